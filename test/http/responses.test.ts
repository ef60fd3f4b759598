// How responses travel: stored, chained, in the background, cancelled, deleted.

import { describe, expect, test } from "bun:test";
import type { AnswerEvent, Conversation, Converse } from "../../src/core/agent.ts";
import { defined } from "../../src/core/defined.ts";
import { ServiceError } from "../../src/core/error.ts";
import { messageText } from "../../src/core/message.ts";
import type { RunEvent } from "../../src/core/run.ts";
import type { ResponseResource } from "../../src/dialects/responses/resource.ts";
import { responsesBody, testApp, type TestApp } from "../helpers/app.ts";
import { ACCEPTED, answer, byHand, end, FINISH, playing, text } from "../helpers/run-events.ts";
import { SCRIPTS } from "../helpers/scripts.ts";
import { parseSse } from "../helpers/sse.ts";
import { until } from "../helpers/until.ts";

const PATH = "/v1/responses";

async function create(app: TestApp, extra: Record<string, unknown> = {}): Promise<ResponseResource> {
  const response = await app.post(PATH, responsesBody(extra));
  expect(response.status).toBe(200);
  return response.json();
}

const fetched = (app: TestApp, id: string) => app.request(`${PATH}/${id}`);
const resourceOf = async (app: TestApp, id: string): Promise<ResponseResource> =>
  (await fetched(app, id)).json();
const codeOf = async (response: Response): Promise<string> => (await response.json()).error.code;
const cancel = (app: TestApp, id: string) => app.request(`${PATH}/${id}/cancel`, { method: "POST" });
const remove = (app: TestApp, id: string) => app.request(`${PATH}/${id}`, { method: "DELETE" });
const settled = (app: TestApp, id: string) =>
  until("the response is final", async () => {
    const resource = await resourceOf(app, id);
    return !["queued", "in_progress"].includes(resource.status) && resource;
  });

test("a response is answered and kept", async () => {
  const app = testApp();
  const made = await create(app, { metadata: { a: "b" } });
  expect(made.id).toMatch(/^resp_[0-9A-Za-z]{24}$/);
  expect(made).toMatchObject({
    model: "tiny",
    status: "completed",
    metadata: { a: "b" },
    output: [{ type: "message", role: "assistant", content: [{ type: "output_text", text: "Hi" }] }],
  });
  expect(await resourceOf(app, made.id)).toEqual(made);
});

test("without store it is not kept", async () => {
  const app = testApp();
  const { id } = await create(app, { store: false });
  expect((await fetched(app, id)).status).toBe(404);
  const chained = await app.post(PATH, responsesBody({ previous_response_id: id }));
  expect(chained.status).toBe(404);
  expect((await chained.json()).error).toMatchObject({
    code: "response_not_found",
    type: "not_found_error",
    param: "previous_response_id",
  });
});

test("the stream's last event holds what is fetched afterwards, also with store off", async () => {
  const app = testApp();
  for (const store of [true, false]) {
    const response = await app.post(PATH, responsesBody({ stream: true, store }));
    expect(response.headers.get("content-type")).toStartWith("text/event-stream");
    const { data, event } = parseSse(await response.text()).events.at(-1) ?? { data: "", event: "" };
    expect(event).toBe("response.completed");
    const { response: resource } = JSON.parse(data);
    const found = await fetched(app, resource.id);
    expect(found.status).toBe(store ? 200 : 404);
    if (store) expect(await found.json()).toEqual(resource);
  }
});

test("what all dialects share is told in the words of this one", async () => {
  const message = "The prompt is too long.";
  const error: RunEvent = {
    type: "error",
    error: { code: "context_length_exceeded", message, param: "messages" },
  };
  const tooLong = await testApp(playing([error]).generate).post(PATH, responsesBody());
  expect((await tooLong.json()).error).toMatchObject({ param: "input" });
  const search = await testApp().post(PATH, responsesBody({ tools: [{ type: "web_search" }] }));
  const refused = (await search.json()).error;
  expect(refused).toMatchObject({ code: "capability_disabled", param: "tools[0]" });
  expect(refused.message).toStartWith("tools[0]: ");
});

test("errors before accepted have a status, later ones fail the body or the stream", async () => {
  const refused = testApp(
    playing([{ type: "error", error: { code: "queue_full", message: "later" } }]).generate,
  );
  for (const stream of [true, false]) {
    expect((await refused.post(PATH, responsesBody({ stream }))).status).toBe(429);
  }
  const error: RunEvent = { type: "error", error: { code: "engine_failed", message: "died" } };
  const failing = testApp(playing([ACCEPTED, text("Hi"), error]).generate);
  expect((await failing.post(PATH, responsesBody())).status).toBe(500);
  const response = await failing.post(PATH, responsesBody({ stream: true }));
  const { events } = parseSse(await response.text());
  expect(events.slice(-2).map(({ event }) => event)).toEqual(["error", "response.failed"]);
  const { id } = JSON.parse(events.at(-1)?.data ?? "").response;
  expect(await resourceOf(failing, id)).toMatchObject({ status: "failed", error: { code: "engine_failed" } });
});

test("a chain goes on from the whole conversation", async () => {
  const { generate, requests } = playing(answer("Hi"));
  const app = testApp(generate);
  let id: string | undefined;
  for (const input of ["one", "two", "three"]) {
    ({ id } = await create(app, { input, ...defined({ previous_response_id: id }) }));
  }
  const prompt = requests.at(-1)?.prompt;
  const said = prompt?.type === "chat" ? prompt.messages.map(messageText) : [];
  expect(said).toEqual(["one", "Hi", "two", "Hi", "three"]);
});

test("a chain keeps its session", async () => {
  const asked: Conversation[] = [];
  const converse: Converse = (conversation) => {
    asked.push(conversation);
    return (async function* (): AsyncGenerator<AnswerEvent> {
      yield* SCRIPTS.agent.events;
    })();
  };
  const app = testApp(undefined, { converse });
  const first = await create(app);
  expect(first.output.map(({ type }) => type)).toEqual([
    "reasoning",
    "shell_call",
    "shell_call_output",
    "message",
  ]);
  const second = await create(app, { previous_response_id: first.id });
  await create(app, { previous_response_id: second.id });
  expect(asked.map(({ agent }) => agent.sessionId)).toEqual([undefined, "sess_1", "sess_1"]);
});

describe("in the background", () => {
  test("it is queued at once, goes on, and is fetched as far as it is", async () => {
    const runs = byHand();
    const app = testApp(runs.generate);
    const { id, status } = await create(app, { background: true });
    expect(status).toBe("queued");
    const run = await runs.next();
    run.emit(ACCEPTED, text("He"));
    await until("half the answer is there", async () => (await resourceOf(app, id)).output.length === 1);
    expect(await resourceOf(app, id)).toMatchObject({
      status: "in_progress",
      output: [{ status: "in_progress", content: [{ text: "He" }] }],
    });
    const early = await app.post(PATH, responsesBody({ previous_response_id: id }));
    expect(early.status).toBe(400);
    run.emit(text("llo"), end(), FINISH);
    expect(await settled(app, id)).toMatchObject({
      status: "completed",
      output: [{ status: "completed", content: [{ text: "Hello" }] }],
      usage: { total_tokens: 20 },
    });
  });

  test("it can be cancelled, and again", async () => {
    const runs = byHand();
    const app = testApp(runs.generate);
    const { id } = await create(app, { background: true });
    const run = await runs.next();
    run.emit(ACCEPTED, text("He"));
    await until("half the answer is there", async () => (await resourceOf(app, id)).output.length === 1);
    const cancelled = await cancel(app, id);
    expect(cancelled.status).toBe(200);
    const resource = await cancelled.json();
    expect(resource).toMatchObject({ status: "cancelled", output: [{ status: "incomplete" }] });
    expect(await resourceOf(app, id)).toEqual(resource);
    await run.closed;
    expect(run.signal.aborted).toBe(true);
    const again = await cancel(app, id);
    expect([again.status, await again.json()]).toEqual([200, resource]); // for a client that lost the first answer
    expect(app.logged).toEqual([]);
  });

  test("it fails where its run does, whatever the way", async () => {
    const dies: Converse = async function* () {
      yield ACCEPTED;
      throw new TypeError("secret inside");
    };
    const stops: Converse = async function* () {
      yield ACCEPTED;
    };
    const refused: Converse = async function* () {
      yield { type: "error", error: { code: "model_not_found", message: "no such model" } } as const;
    };
    for (const [converse, code] of [
      [dies, "internal_error"],
      [stops, "internal_error"],
      [refused, "model_not_found"],
    ] as const) {
      const app = testApp(undefined, { converse });
      const { id } = await create(app, { background: true });
      const resource = await settled(app, id);
      expect(resource).toMatchObject({ status: "failed", error: { code } });
      expect(JSON.stringify(resource)).not.toContain("secret");
    }
  });

  test("what the server refuses at once is refused with a status", async () => {
    const converse: Converse = () => {
      throw new ServiceError("capability_disabled", "not here");
    };
    const response = await testApp(undefined, { converse }).post(PATH, responsesBody({ background: true }));
    expect(response.status).toBe(400);
  });

  test("a stream may be left and taken up again, by several at their own pace", async () => {
    const runs = byHand();
    const app = testApp(runs.generate);
    const left = await app.post(PATH, responsesBody({ background: true, stream: true }));
    const run = await runs.next();
    run.emit(ACCEPTED, text("a"));
    const reader = left.body?.getReader();
    const first = new TextDecoder().decode((await reader?.read())?.value);
    const { id } = JSON.parse(first.slice(first.indexOf("{"))).response;
    await reader?.cancel();
    const from = (after: string) =>
      app.request(`${PATH}/${id}?stream=true${after}`).then((one) => one.text());
    const all = from("");
    const rest = from("&starting_after=4");
    run.emit(text("b"), end(), FINISH);
    const events = parseSse(await all).events;
    expect(events.map(({ event }) => event)).toContain("response.queued");
    expect(events.at(-1)?.event).toBe("response.completed");
    expect(parseSse(await rest).events).toEqual(events.slice(5));
    expect(parseSse(await from("")).events).toEqual(events); // and once more when it is over
    expect(run.signal.aborted).toBe(true); // by the end, not by the client that left
  });

  test("a cancelled stream ends", async () => {
    const runs = byHand();
    const app = testApp(runs.generate);
    const response = await app.post(PATH, responsesBody({ background: true, stream: true }));
    (await runs.next()).emit(ACCEPTED, text("a"));
    const [forUs, rest] = response.body?.tee() ?? [];
    const first = new TextDecoder().decode((await forUs?.getReader().read())?.value);
    await cancel(app, JSON.parse(first.slice(first.indexOf("{"))).response.id);
    const { events } = parseSse(await new Response(rest).text());
    expect(events.at(-1)?.event).toBe("response.incomplete");
    expect(JSON.parse(events.at(-1)?.data ?? "").response.status).toBe("cancelled");
  });

  test.each(["?stream=true", "?stream=maybe", "?stream=true&starting_after=x"])(
    "what cannot be streamed: %s",
    async (query) => {
      const app = testApp();
      const { id } = await create(app);
      const response = await app.request(`${PATH}/${id}${query}`);
      expect(response.status).toBe(400);
      expect(await codeOf(response)).toBe("invalid_request");
    },
  );
});

describe("cancel and delete", () => {
  test("what does not run in the background cannot be cancelled", async () => {
    const app = testApp();
    const { id } = await create(app);
    expect(await codeOf(await cancel(app, id))).toBe("response_not_cancellable");
    expect((await cancel(app, "resp_none")).status).toBe(404);
  });

  test("deleted is gone", async () => {
    const app = testApp();
    const { id } = await create(app);
    expect(await (await remove(app, id)).json()).toEqual({ id, object: "response", deleted: true });
    expect((await fetched(app, id)).status).toBe(404);
    const again = await remove(app, id);
    expect(again.status).toBe(404);
    expect(await codeOf(again)).toBe("response_not_found");
  });

  test("deleting one that runs ends it", async () => {
    const runs = byHand();
    const app = testApp(runs.generate);
    const { id } = await create(app, { background: true });
    const run = await runs.next();
    run.emit(ACCEPTED);
    expect((await remove(app, id)).status).toBe(200);
    await run.closed;
    expect(run.signal.aborted).toBe(true);
    expect((await fetched(app, id)).status).toBe(404);
  });
});

describe("input items", () => {
  const input = [
    { role: "user", content: "a" },
    { role: "assistant", content: "b", id: "msg_own" },
    { role: "user", content: "c" },
  ];

  test("are listed in pages, latest first", async () => {
    const app = testApp();
    const { id } = await create(app, { input });
    const page = async (query: string) => (await app.request(`${PATH}/${id}/input_items${query}`)).json();
    const contents = ({ data }: { data: readonly { content: string }[] }) =>
      data.map(({ content }) => content);
    expect(contents(await page(""))).toEqual(["c", "b", "a"]);
    const first = await page("?order=asc&limit=2");
    expect(contents(first)).toEqual(["a", "b"]);
    expect(first).toMatchObject({ object: "list", has_more: true, last_id: "msg_own" });
    expect(contents(await page("?order=asc&after=msg_own"))).toEqual(["c"]);
    for (const wrong of ["?limit=0", "?limit=x", "?order=up", "?after=msg_none"]) {
      expect((await page(wrong)).error.code).toBe("invalid_request");
    }
  });

  test("and outputs can be referred to", async () => {
    const { generate, requests } = playing(answer("Hi"));
    const app = testApp(generate);
    const { id, output } = await create(app, { input: "a" });
    const listed = await (await app.request(`${PATH}/${id}/input_items`)).json();
    const references = [listed.data[0].id, output[0]?.id].map((one) => ({ type: "item_reference", id: one }));
    await create(app, { input: [...references, { role: "user", content: "b" }] });
    const prompt = requests.at(-1)?.prompt;
    expect(prompt?.type === "chat" ? prompt.messages.map(messageText) : []).toEqual(["a", "Hi", "b"]);
    const unknown = { type: "item_reference", id: "msg_000000000000000000000000_0" };
    expect((await app.post(PATH, { input: [unknown] })).status).toBe(400);
  });
});

test("a client that leaves a stream ends its run, and nothing is kept of it", async () => {
  const runs = byHand();
  const app = testApp(runs.generate);
  const pending = app.post(PATH, responsesBody({ stream: true }));
  const run = await runs.next();
  run.emit(ACCEPTED);
  const reader = (await pending).body?.getReader();
  const first = new TextDecoder().decode((await reader?.read())?.value);
  const { id } = JSON.parse(first.split("\n")[1]?.slice("data: ".length) ?? "").response;
  await reader?.cancel();
  await run.closed;
  expect((await fetched(app, id)).status).toBe(404);
});

test("a draining server takes no new responses and still serves the kept ones", async () => {
  let draining = false;
  const app = testApp(undefined, { draining: () => draining });
  const { id } = await create(app);
  draining = true;
  expect((await app.post(PATH, responsesBody({ background: true }))).status).toBe(503);
  expect((await fetched(app, id)).status).toBe(200);
});
