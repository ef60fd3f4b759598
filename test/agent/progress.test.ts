// Event data and result texts of calls, for every kind of tool.

import { expect, test } from "bun:test";
import { refusedProgress, resultContent } from "../../src/agent/progress.ts";
import type { ToolProgress } from "../../src/core/agent.ts";

const DENIED = { status: "denied", message: "No.", text: '{"status":"denied"}' } as const;

test.each<[ToolProgress, ToolProgress]>([
  [
    { tool_type: "code_execution", code: "1" },
    { tool_type: "code_execution", exception: "No." },
  ],
  [
    { tool_type: "shell", commands: ["ls"] },
    { tool_type: "shell", commands: ["ls"], status: "denied", stderr: "No.", timed_out: false },
  ],
  [{ tool_type: "shell" }, { tool_type: "shell", status: "denied", stderr: "No.", timed_out: false }],
  [{ tool_type: "web_search", query: "bees" }, { tool_type: "web_search" }],
  [
    { tool_type: "custom", arguments: "{}" },
    { tool_type: "custom", content: '{"status":"denied"}' },
  ],
])("a refused call stays what it was: %j", (calling, complete) => {
  expect(refusedProgress(calling, DENIED)).toEqual(complete);
});

test.each<[ToolProgress, string]>([
  [
    { tool_type: "code_execution", stdout: "a", stderr: "b", exception: "c" },
    "stdout: a\nstderr: b\nexception: c",
  ],
  [{ tool_type: "code_execution", stdout: "", execution_time_ms: 3 }, ""],
  [
    { tool_type: "shell", commands: ["ls"], stdout: "a", exit_code: 0, status: "success", timed_out: false },
    '{"stdout":"a","exit_code":0,"status":"success","timed_out":false}',
  ],
  [
    { tool_type: "shell", exit_code: null, status: "timeout", timed_out: true },
    '{"status":"timeout","timed_out":true}',
  ],
  [
    { tool_type: "web_search", results_count: 2, sources: ["a.org", "b.org"] },
    "2 results\nsources: a.org, b.org",
  ],
  [{ tool_type: "web_search" }, ""],
  [{ tool_type: "custom", content: "text" }, "text"],
  [{ tool_type: "custom" }, ""],
])("%j in short", (data, content) => {
  expect(resultContent(data)).toBe(content);
});
