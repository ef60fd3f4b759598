// Tools of type `namespace` in Responses: models see flat names, clients get the namespace back, whether a call is
// streamed, folded, stored or sent again.

import { describe, expect, test } from "bun:test";
import type { RunEvent, RunRequest } from "../../src/core/run.ts";
import { responsesBody, testApp } from "../helpers/app.ts";
import { ACCEPTED, answer, end, FINISH, playing } from "../helpers/run-events.ts";
import { parseSse } from "../helpers/sse.ts";

const PATH = "/v1/responses";

const find = { type: "function", name: "find", description: "Finds one.", parameters: { type: "object" } };
const drop = { type: "function", name: "drop" };
const crm = { type: "namespace", name: "crm", description: "Customers.", tools: [find, drop] };
const shell = { type: "function", name: "shell" };
const ITEM = { type: "function_call", name: "find", namespace: "crm", arguments: '{"id":1}' };

function calling(name: string): readonly RunEvent[] {
  return [
    ACCEPTED,
    { type: "tool_call_start", choice: 0, index: 0, id: "call_1", name },
    { type: "tool_call_args", choice: 0, index: 0, delta: '{"id":1}' },
    end("tool_calls"),
    FINISH,
  ];
}

function promptOf({ prompt }: RunRequest) {
  if (prompt.type !== "chat") throw new Error("no chat prompt");
  return prompt;
}

async function promptFor(extra: Readonly<Record<string, unknown>>) {
  const { generate, requests } = playing(answer("ok"));
  const response = await testApp(generate).post(PATH, responsesBody(extra));
  if (response.status !== 200) throw new Error(await response.text());
  const [run] = requests;
  if (run === undefined) throw new Error("no run");
  return promptOf(run);
}

test("models see flat functions, the namespace described once", async () => {
  const { tools } = await promptFor({ tools: [shell, crm] });
  expect(tools.map(({ name, description }) => [name, description])).toEqual([
    ["shell", undefined],
    ["crm__find", "Customers.\n\nFinds one."],
    ["crm__drop", undefined],
  ]);
});

test("what is no function within a namespace is left out", async () => {
  const mixed = { ...crm, tools: [{ type: "custom", name: "patch" }, find] };
  const { tools } = await promptFor({ tools: [mixed, { type: "namespace", name: "empty" }] });
  expect(tools.map(({ name }) => name)).toEqual(["crm__find"]);
});

describe("a call comes back with its namespace", () => {
  const app = () => testApp(playing(calling("crm__find")).generate);

  test("whole, and when it is fetched", async () => {
    const { post, request } = app();
    const resource = await (await post(PATH, responsesBody({ tools: [crm] }))).json();
    expect(resource.output).toMatchObject([ITEM]);
    expect(resource.tools).toMatchObject([crm]);
    expect((await (await request(`${PATH}/${resource.id}`)).json()).output).toMatchObject([ITEM]);
  });

  test("streamed, from its first event on", async () => {
    const response = await app().post(PATH, responsesBody({ tools: [crm], stream: true }));
    const items = parseSse(await response.text())
      .events.map(({ data }) => JSON.parse(data))
      .flatMap(({ item }) => (item === undefined ? [] : [item]));
    expect(items).toMatchObject([{ ...ITEM, arguments: "" }, ITEM]);
  });

  test("in the background", async () => {
    const { post, request } = app();
    const { id } = await (await post(PATH, responsesBody({ tools: [crm], background: true }))).json();
    let resource = { status: "queued", output: [] };
    while (resource.status === "queued" || resource.status === "in_progress") {
      resource = await (await request(`${PATH}/${id}`)).json();
    }
    expect(resource.output).toMatchObject([ITEM]);
  });
});

test("a function outside of namespaces has none, whatever its name looks like", async () => {
  const { post } = testApp(playing(calling("crm__find")).generate);
  const tools = [{ type: "function", name: "crm__find" }];
  const { output } = await (await post(PATH, responsesBody({ tools }))).json();
  expect(output[0]).toMatchObject({ name: "crm__find" });
  expect(output[0]).not.toHaveProperty("namespace");
});

describe("history", () => {
  const input = [
    { role: "user", content: "Hi" },
    { ...ITEM, call_id: "call_1" },
    { type: "function_call_output", call_id: "call_1", output: "Ann" },
  ];
  const seen = [
    { role: "user" },
    { role: "assistant", toolCalls: [{ id: "call_1", name: "crm__find" }] },
    { role: "tool", name: "crm__find", toolCallId: "call_1" },
  ];

  test("is shown by the same names", async () => {
    const { messages } = await promptFor({ tools: [crm], input });
    expect(messages).toMatchObject(seen);
    expect(JSON.stringify(messages)).not.toContain("namespace");
  });

  test("also when its namespace is declared no more", async () => {
    expect((await promptFor({ tools: [shell], input })).messages).toMatchObject(seen);
  });

  test("that is stored is shown by the names of the request that goes on", async () => {
    const { generate, requests } = playing(calling("crm__find"));
    const { post } = testApp(generate);
    const first = await (await post(PATH, responsesBody({ tools: [crm] }))).json();
    const clash = { type: "function", name: "crm__find" }; // takes the name away
    await post(PATH, {
      previous_response_id: first.id,
      tools: [clash, crm],
      input: [{ type: "function_call_output", call_id: "call_1", output: "Ann" }],
    });
    const second = requests[1];
    const { messages, tools } = promptOf(second ?? ({} as RunRequest));
    const renamed = tools.map(({ name }) => name).find((name) => name.startsWith("crm__find_"));
    expect(messages[1]?.toolCalls?.[0]?.name).toBe(renamed ?? "");
    expect(messages[2]?.name).toBe(renamed ?? "");
  });
});

describe("a choice", () => {
  test("names a function with its namespace", async () => {
    const choice = { type: "function", name: "find", namespace: "crm" };
    const { toolChoice } = await promptFor({ tools: [shell, crm], tool_choice: choice });
    expect(toolChoice).toEqual({ type: "named", names: ["crm__find"], required: true, once: true });
  });

  test("among allowed functions", async () => {
    const allowed = [
      { type: "function", name: "drop", namespace: "crm" },
      { type: "function", name: "shell" },
    ];
    const choice = { type: "allowed_tools", mode: "auto", tools: allowed };
    const { toolChoice } = await promptFor({ tools: [shell, crm], tool_choice: choice });
    expect(toolChoice).toMatchObject({ names: ["crm__drop", "shell"], required: false });
  });

  test("of a function in no such namespace is refused", async () => {
    const choice = { type: "function", name: "find" };
    const response = await testApp().post(PATH, responsesBody({ tools: [crm], tool_choice: choice }));
    expect([response.status, (await response.json()).error.param]).toEqual([400, "tool_choice.name"]);
  });
});

test.each([
  [[{ ...crm, tools: [find, find] }], "tools[0].tools[1].name"],
  [[crm, crm], "tools[1].tools[0].name"],
  [[{ ...crm, tools: [{ ...find, parameters: { type: "string" } }] }], "tools[0].tools[0].parameters.type"],
  [[{ type: "namespace", tools: [find] }], "tools[0].name"],
])("a refusal says where: %#", async (tools, param) => {
  const { error } = await (await testApp().post(PATH, responsesBody({ tools }))).json();
  expect(error.param).toBe(param);
});

test("more functions than a request may have are refused, spread as they may be", async () => {
  const many = (name: string) => ({
    type: "namespace",
    name,
    tools: Array.from({ length: 600 }, (_, index) => ({ type: "function", name: `f${index}` })),
  });
  const response = await testApp().post(PATH, responsesBody({ tools: [many("a"), many("b")] }));
  expect((await response.json()).error).toMatchObject({ code: "invalid_request", param: "tools" });
});
