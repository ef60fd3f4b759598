// Runs that all generation dialects are tested with.

import fc from "fast-check";
import type { AnswerEvent, FileObject } from "../../src/core/agent.ts";
import type { AppliedEdit } from "../../src/core/applied-edit.ts";
import type { FinishReason, RunEvent } from "../../src/core/run.ts";
import { ACCEPTED, end, FINISH, logprob, text } from "./run-events.ts";

/** A feature of a run that not every dialect has. */
export type Feature = "tools" | "agent" | "choices" | "edits";

export interface Script {
  readonly needs: readonly Feature[];
  readonly events: readonly AnswerEvent[];
}

const FILE: FileObject = {
  id: "file_r1_0",
  name: "sum.csv",
  format: "csv",
  mime_type: "text/csv",
  bytes: 6,
  created_at: 1_700_000_001,
  purpose: "agent_output",
  source: { tool: "svc_shell", round: 1, turn: 0 },
  text: "a,b\n1,",
};

const SHELL_CALL = {
  round: 1,
  callId: "call_s",
  toolName: "svc_shell",
  arguments: '{"commands":["ls"],"timeout_ms":1000}',
} as const;

const PYTHON_CALL = {
  round: 2,
  callId: "call_p",
  toolName: "svc_execute_python",
  arguments: '{"code":"1+1"}',
} as const;

function compaction(summary: string, replaced: number): AppliedEdit {
  const kept = [{ role: "user" as const, content: [{ type: "text" as const, text: `${summary} Go on.` }] }];
  const spent = { promptTokens: 4, cachedTokens: 1, completionTokens: 3 };
  return { type: "compaction", summary, replaced, kept, tokens: 90, spent };
}

/** Named runs; each is also a golden file per dialect. */
export const SCRIPTS = {
  text: { needs: [], events: [ACCEPTED, text("Hé"), text('llo "you"\n'), text("🌍"), end(), FINISH] },
  empty: { needs: [], events: [ACCEPTED, end(), FINISH] },
  cut: { needs: [], events: [ACCEPTED, text("He"), end("length"), FINISH] },
  reasoning: {
    needs: [],
    events: [
      ACCEPTED,
      { type: "reasoning", choice: 0, text: "Let me\n" },
      { type: "reasoning", choice: 0, text: "think" },
      text("Yes"),
      end(),
      FINISH,
    ],
  },
  tools: {
    needs: ["tools"],
    events: [
      ACCEPTED,
      { type: "reasoning", choice: 0, text: "look" },
      text("I look."),
      { type: "tool_call_start", choice: 0, index: 0, id: "call_a", name: "find" },
      { type: "tool_call_args", choice: 0, index: 0, delta: '{"q":' },
      { type: "tool_call_args", choice: 0, index: 0, delta: '"x"}' },
      { type: "tool_call_start", choice: 0, index: 1, id: "call_b", name: "stop" },
      { type: "tool_call_args", choice: 0, index: 1, delta: "{}" },
      end("tool_calls"),
      FINISH,
    ],
  },
  compaction: {
    needs: ["edits"],
    events: [
      ACCEPTED,
      {
        type: "context_edited",
        edits: [compaction("FACT 1", 3), { type: "clear_thinking", turns: 1, tokens: 5 }],
      },
      text("He"),
      { type: "context_edited", edits: [compaction("FACT 1, FACT 2", 5)] },
      text("llo"),
      end(),
      FINISH,
    ],
  },
  agent: {
    needs: ["agent"],
    events: [
      { type: "accepted", promptTokens: 12 },
      { type: "session", sessionId: "sess_1" },
      { type: "reasoning", choice: 0, text: "I list." },
      { type: "tool_calling", ...SHELL_CALL, data: { tool_type: "shell", commands: ["ls"] } },
      { type: "file_produced", file: FILE },
      {
        type: "tool_complete",
        ...SHELL_CALL,
        data: { tool_type: "shell", commands: ["ls"], stdout: "sum.csv\n", exit_code: 0, status: "success" },
        resultContent: '{"stdout":"sum.csv\\n"}',
        images: [],
        fileIds: [FILE.id],
      },
      { type: "tool_calling", ...PYTHON_CALL, data: { tool_type: "code_execution", code: "1+1" } },
      {
        type: "tool_complete",
        ...PYTHON_CALL,
        data: { tool_type: "code_execution", stdout: "2" },
        resultContent: "stdout: 2",
        images: ["iVBORw0KGgo="],
        fileIds: [],
      },
      text("It is 2."),
      end(),
      FINISH,
    ],
  },
  fingerprint: { needs: [], events: [ACCEPTED, text("Hi"), { ...end(), fingerprint: "0a1b" }, FINISH] },
  failed: {
    needs: [],
    events: [
      ACCEPTED,
      text("Hi"),
      { type: "error", error: { code: "engine_failed", message: "the engine died" } },
    ],
  },
} as const satisfies Record<string, Script>;

export type ScriptName = keyof typeof SCRIPTS;

/** Successful runs with one to three choices, interleaved events, and one end per choice. */
export function anyRun(): fc.Arbitrary<{
  readonly events: readonly RunEvent[];
  readonly choices: number;
  readonly withLogprobs: boolean;
}> {
  const piece = fc.record({
    kind: fc.constantFrom("text", "reasoning", "call", "args"),
    choice: fc.nat(2),
    text: fc.string(),
  });
  const reasons = fc.array(fc.constantFrom<FinishReason>("stop", "length"), { minLength: 1, maxLength: 3 });
  const all = fc.tuple(reasons, fc.array(piece, { maxLength: 40 }), fc.boolean());
  return all.map(([ends, pieces, withLogprobs]) => {
    const calls = ends.map(() => 0);
    let open: boolean[] = ends.map(() => false);
    const middle = pieces.flatMap(({ kind, choice: raw, text: content }): RunEvent[] => {
      const at = raw % ends.length;
      const made = calls[at] ?? 0;
      const logprobs = withLogprobs ? { logprobs: [logprob(content, -1, [content, -1])] } : {};
      if (kind === "args") {
        return open[at] === true
          ? [{ type: "tool_call_args", choice: at, index: made - 1, delta: content }]
          : [];
      }
      open = open.with(at, kind === "call");
      if (kind === "text" || kind === "reasoning")
        return [{ type: kind, choice: at, text: content, ...logprobs }];
      calls[at] = made + 1;
      return [{ type: "tool_call_start", choice: at, index: made, id: `call_${at}_${made}`, name: "f" }];
    });
    const events = [ACCEPTED, ...middle, ...ends.map((reason, at) => end(reason, at)), FINISH];
    return { events, choices: ends.length, withLogprobs };
  });
}
