// The compat mode: `strict` refuses what the interface refuses and names the setting, `clients` serves it in the nearest
// right way and says so in a header, a counter and the log.

import { describe, expect, test } from "bun:test";
import { SERVER } from "../../src/core/caller.ts";
import { HOSTED_TOOLS, type HostedTool } from "../../src/core/compat.ts";
import type { RunRequest } from "../../src/core/run.ts";
import { Metrics } from "../../src/metrics/metrics.ts";
import { chatBody, messagesBody, responsesBody, testApp } from "../helpers/app.ts";
import { answer, playing } from "../helpers/run-events.ts";

const CHAT = "/v1/chat/completions";
const MESSAGES = "/v1/messages";
const RESPONSES = "/v1/responses";

const JSON_OBJECT = { type: "json_object" };
const ANY_OBJECT = { type: "json_schema", schema: { type: "object" } };

type Body = Readonly<Record<string, unknown>>;

/** Route, kind, field, body, and what the engine is asked for under `clients`. */
const CASES: readonly (readonly [string, string, string, Body, Body])[] = [
  [
    CHAT,
    "json_object",
    "response_format.type",
    chatBody({ response_format: JSON_OBJECT }),
    { constraint: ANY_OBJECT, constraintParam: "response_format" },
  ],
  [
    MESSAGES,
    "json_object",
    "response_format.type",
    messagesBody({ response_format: JSON_OBJECT }),
    { constraint: ANY_OBJECT },
  ],
  [
    RESPONSES,
    "json_object",
    "response_format.type",
    responsesBody({ response_format: JSON_OBJECT }),
    { constraint: ANY_OBJECT },
  ],
  [
    RESPONSES,
    "json_object",
    "text.format.type",
    responsesBody({ text: { format: JSON_OBJECT } }),
    { constraint: ANY_OBJECT, constraintParam: "text.format" },
  ],
  [
    RESPONSES,
    "parallel_tool_calls",
    "parallel_tool_calls",
    responsesBody({ parallel_tool_calls: false }),
    { prompt: { singleCall: true } },
  ],
  [RESPONSES, "max_tool_calls", "max_tool_calls", responsesBody({ max_tool_calls: 3 }), {}],
  [
    RESPONSES,
    "external_web_access",
    "tools[0].external_web_access",
    responsesBody({ tools: [{ type: "web_search", external_web_access: false }] }),
    { prompt: { tools: [] } },
  ],
  [
    CHAT,
    "external_web_access",
    "web_search_options.external_web_access",
    chatBody({ web_search_options: { external_web_access: false } }),
    { prompt: { tools: [] } },
  ],
  [
    RESPONSES,
    "hosted_tool",
    "tools[0].type",
    responsesBody({ tools: [{ type: "image_generation" }, { type: "function", name: "f" }] }),
    { prompt: { tools: [{ name: "f" }] } },
  ],
  [
    MESSAGES,
    "hosted_tool",
    "tools[0].type",
    messagesBody({
      tools: [
        { type: "bash_20250124", name: "bash" },
        { name: "f", input_schema: {} },
      ],
    }),
    { prompt: { tools: [{ name: "f" }] } },
  ],
  [
    CHAT,
    "reasoning_effort",
    "reasoning_effort",
    chatBody({ reasoning_effort: "minimal" }),
    { prompt: { thinking: { enabled: true, effort: "low" } } },
  ],
  [
    RESPONSES,
    "reasoning_effort",
    "reasoning.effort",
    responsesBody({ reasoning: { effort: "Max" } }),
    { prompt: { thinking: { enabled: true, effort: "xhigh" } } },
  ],
  [
    MESSAGES,
    "reasoning_effort",
    "reasoning_effort",
    messagesBody({ reasoning_effort: "max" }),
    { prompt: { thinking: { enabled: true, effort: "xhigh" } } },
  ],
];

function app(mode: "strict" | "clients", hosted: readonly HostedTool[] = HOSTED_TOOLS) {
  const metrics = new Metrics();
  const runs: RunRequest[] = [];
  const { generate } = playing(answer("{}"));
  const served = testApp(
    (request, signal) => {
      runs.push(request);
      return generate(request, signal, SERVER);
    },
    { metrics, compat: { mode, hosted: new Set(hosted) } },
  );
  return { ...served, metrics, runs };
}

describe.each(CASES)("%s: %s in %s", (path, kind, param, body, run) => {
  test("strict refuses and names the setting", async () => {
    const { post, runs } = app("strict");
    const response = await post(path, body);
    expect(response.status).toBe(400);
    expect(response.headers.get("x-svc-compat")).toBeNull();
    const { error } = await response.json();
    expect(error).toMatchObject({ code: "unsupported_value", param });
    expect(error.message).toContain("--compat clients");
    expect(runs).toEqual([]);
  });

  test("clients serves, counts and logs", async () => {
    const { post, runs, metrics, logged } = app("clients");
    const response = await post(path, body);
    expect(response.status).toBe(200);
    expect(response.headers.get("x-svc-compat")).toBe(kind);
    await response.text();
    expect(runs[0]).toMatchObject(run);
    await (await post(path, body)).text();
    expect(await metrics.text()).toContain(`svc_compat_total{kind="${kind}"} 2`);
    expect(logged.filter((line) => line.includes(kind))).toHaveLength(1);
  });
});

test("streams carry the header too", async () => {
  const { post } = app("clients");
  const response = await post(CHAT, chatBody({ stream: true, response_format: JSON_OBJECT }));
  expect(response.headers.get("x-svc-compat")).toBe("json_object");
  await response.text();
});

test("what the interface accepts is not reported", async () => {
  const { post } = app("clients");
  const response = await post(CHAT, chatBody({ parallel_tool_calls: false, reasoning_effort: "low" }));
  expect(response.headers.get("x-svc-compat")).toBeNull();
});

test("one call per answer of chat completions, which strict accepts without effect", async () => {
  const tools = [{ type: "function", function: { name: "find" } }];
  for (const [mode, parallel, served] of [
    ["clients", false, "parallel_tool_calls"],
    ["clients", true, null],
    ["strict", false, null],
  ] as const) {
    const { post, runs } = app(mode);
    const response = await post(CHAT, chatBody({ tools, parallel_tool_calls: parallel }));
    expect([response.status, response.headers.get("x-svc-compat")]).toEqual([200, served]);
    expect(runs[0]?.prompt).toMatchObject({ tools: [{ name: "find" }] });
    expect(runs[0]?.prompt).toHaveProperty("type", "chat");
    expect("singleCall" in (runs[0]?.prompt ?? {})).toBe(served !== null);
  }
});

test("a response repeats what it was asked for", async () => {
  const { post } = app("clients");
  const body = { parallel_tool_calls: false, max_tool_calls: 2, text: { format: JSON_OBJECT } };
  const response = await post(RESPONSES, responsesBody(body));
  expect(await response.json()).toMatchObject(body);
});

/** Tools of the server as clients list them, whether the server has them or not. */
const LISTED: readonly (readonly [string, Body])[] = [
  [CHAT, chatBody({ tools: [{ type: "code_interpreter", container: { type: "auto" } }] })],
  [MESSAGES, messagesBody({ tools: [{ type: "web_search_20250305", name: "web_search" }] })],
  [MESSAGES, messagesBody({ tools: [{ type: "code_execution_20250522", name: "code_execution" }] })],
  [RESPONSES, responsesBody({ tools: [{ type: "web_search" }] })],
  [RESPONSES, responsesBody({ tools: [{ type: "code_interpreter", container: { type: "auto" } }] })],
  [RESPONSES, responsesBody({ tools: [{ type: "shell" }] })],
];

describe.each(LISTED)("%s with a tool that the server lacks: %j", (path, body) => {
  test("strict refuses and names the setting", async () => {
    const { error } = await (await app("strict", []).post(path, body)).json();
    expect(error).toMatchObject({ code: "capability_disabled", param: "tools[0]" });
    expect(error.message).toContain("--compat clients");
  });

  test("clients leaves it out", async () => {
    const { post, runs } = app("clients", []);
    const response = await post(path, body);
    expect([response.status, response.headers.get("x-svc-compat")]).toEqual([200, "hosted_tool"]);
    expect(runs[0]?.prompt).toMatchObject({ tools: [] });
  });

  test("clients refuses it where a call is demanded", async () => {
    const choice = path === MESSAGES ? { type: "any" } : "required";
    const response = await app("clients", []).post(path, { ...body, tool_choice: choice });
    expect((await response.json()).error).toMatchObject({ code: "invalid_request", param: "tool_choice" });
  });
});

test.each([
  [RESPONSES, responsesBody({ tools: [{ type: "computer" }, { type: "function" }] }), "tools[1].function"],
  [CHAT, chatBody({ tools: [{ type: "file_search" }, { type: "function" }] }), "tools[1].function"],
  [
    CHAT,
    chatBody({ tools: [{ type: "mcp" }, { type: "function", function: { name: "f", parameters: [] } }] }),
    "tools[1].function.parameters",
  ],
  [
    MESSAGES,
    messagesBody({
      tools: [
        { type: "bash_20250124", name: "bash" },
        { name: "f", input_schema: [] },
      ],
    }),
    "tools[1].input_schema",
  ],
])("%s: fields keep their names where a tool was left out", async (path, body, param) => {
  const response = await app("clients").post(path, body);
  expect((await response.json()).error.param).toBe(param);
});

test("two tools that are left out are no functions of one name", async () => {
  const { post, runs } = app("clients");
  const tools = [{ type: "file_search" }, { type: "mcp" }, { type: "function", function: { name: "f" } }];
  expect((await post(CHAT, chatBody({ tools }))).status).toBe(200);
  expect(runs[0]?.prompt).toMatchObject({ tools: [{ name: "f" }] });
});

test("a response does not repeat what was left out", async () => {
  const fn = { type: "function", name: "f" };
  const response = await app("clients").post(RESPONSES, responsesBody({ tools: [{ type: "mcp" }, fn] }));
  expect((await response.json()).tools).toMatchObject([fn]);
});

describe("file lists", () => {
  const list = async (mode: "strict" | "clients") => {
    const { request } = app(mode);
    const form = new FormData();
    form.append("file", new File(["a"], "a.txt"));
    const { id } = await (await request("/v1/files", { method: "POST", body: form })).json();
    const answers = ["/v1/files", "/v1/containers/c/files"].map(async (path) => {
      const response = await request(path);
      return { body: await response.json(), served: response.headers.get("x-svc-compat") };
    });
    return { id, answers: await Promise.all(answers) };
  };

  test("are bare arrays", async () => {
    const { id, answers } = await list("strict");
    for (const { body, served } of answers) {
      expect(body).toMatchObject([{ id }]);
      expect(served).toBeNull();
    }
  });

  test("are pages for clients", async () => {
    const { id, answers } = await list("clients");
    for (const { body, served } of answers) {
      expect(body).toMatchObject({
        object: "list",
        data: [{ id }],
        has_more: false,
        first_id: id,
        last_id: id,
      });
      expect(served).toBe("file_list");
    }
  });
});

/** Formats of an answer beside a call that must be made. */
const FORCED = [
  [
    CHAT,
    chatBody({ response_format: { type: "json_schema", json_schema: { name: "a", schema: {} } } }),
    "required",
  ],
  [
    RESPONSES,
    responsesBody({ text: { format: { type: "json_schema", name: "a", schema: {} } } }),
    "required",
  ],
  [
    MESSAGES,
    messagesBody({ output_config: { format: { type: "json_schema", schema: {} } } }),
    { type: "any" },
  ],
] as const;

test.each(FORCED)(
  "%s: a call that must be made wins over the format of an answer",
  async (path, body, choice) => {
    const { post, runs } = app("strict");
    const tools = path === MESSAGES ? [{ name: "f" }] : [{ type: "function", function: { name: "f" } }];
    const forced = await post(path, { ...body, tools, tool_choice: choice });
    expect(forced.status).toBe(200);
    await post(path, { ...body, tools });
    expect(runs.map(({ constraint }) => constraint === undefined)).toEqual([true, false]);
  },
);

test.each([
  { grammar: { type: "regex", value: "a" } },
  { guided_regex: "a" },
  { structured_outputs: { choice: ["a"] } },
])("a grammar beside a call that must be made stays, for the engine to refuse: %j", async (field) => {
  const { post, runs } = app("strict");
  const tools = [{ type: "function", function: { name: "f" } }];
  await post(CHAT, chatBody({ ...field, tools, tool_choice: "required" }));
  expect(runs[0]?.constraint).toEqual({ type: "regex", pattern: "a" });
});

describe("dimensions of embeddings", () => {
  const BODY = { model: "tiny", input: "ab", dimensions: 1 };

  test("strict refuses and names the setting", async () => {
    const response = await app("strict").post("/v1/embeddings", BODY);
    expect(response.status).toBe(400);
    expect((await response.json()).error.message).toContain("--compat clients");
  });

  test("clients cuts the vectors", async () => {
    const response = await app("clients").post("/v1/embeddings", BODY);
    expect(response.headers.get("x-svc-compat")).toBe("dimensions");
    expect((await response.json()).data[0].embedding).toHaveLength(1);
  });
});

describe("counting in Responses", () => {
  test("answers with the tokens and computes nothing", async () => {
    const { post, runs } = app("strict");
    const response = await post(`${RESPONSES}/input_tokens`, responsesBody());
    expect(await response.json()).toEqual({ object: "response.input_tokens", input_tokens: 12 });
    expect(runs[0]?.countOnly).toBe(true);
  });
});

test.each(["/v1/models/tune", "/calibration/start", "/calibration/apply"])(
  "POST %s takes no body at all",
  async (path) => {
    const response = await app("strict").request(path, { method: "POST" });
    expect((await response.json()).error?.code).not.toBe("invalid_json");
  },
);
