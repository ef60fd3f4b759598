// Retention of stored responses, and the fate of unfinished ones when the server stops.

import { describe, expect, test } from "bun:test";
import type { AnswerEvent, Converse } from "../../src/core/agent.ts";
import { SERVER } from "../../src/core/caller.ts";
import {
  BACKGROUND_RUNS_MAX,
  FRAME_LOGS_MAX,
  RESPONSE_LIFE_MS,
  RESPONSES_MAX,
} from "../../src/responses/limits.ts";
import type { Records, State } from "../../src/core/state.ts";
import { ResponseBuilder } from "../../src/dialects/responses/builder.ts";
import { parseResponsesRequest } from "../../src/dialects/responses/request.ts";
import { BackgroundResponses } from "../../src/responses/background.ts";
import { responseStore } from "../../src/responses/store.ts";
import { memoryState } from "../../src/state/memory.ts";
import { ownedState } from "../../src/state/owned.ts";
import { responsesBody } from "../helpers/app.ts";
import { responseHead } from "../helpers/response-head.ts";
import { ACCEPTED, answer, text } from "../helpers/run-events.ts";

const storeOn = (state: State = memoryState()) => responseStore(ownedState(state))(SERVER);
const call = (extra: Record<string, unknown> = {}, store = storeOn()) =>
  parseResponsesRequest(responsesBody(extra), store);
const headOf = (id: string, extra: Record<string, unknown> = {}) => ({ ...responseHead(extra).head, id });
const idOf = (index: number) => `resp_${String(index).padStart(24, "0")}`;

function finished(id: string): ResponseBuilder {
  const builder = new ResponseBuilder({ ...responseHead(), head: headOf(id), choices: 1 });
  for (const event of answer("Hi")) builder.add(event);
  return builder;
}

function queued(id: string): ResponseBuilder {
  const builder = new ResponseBuilder({ ...responseHead(), head: headOf(id), choices: 1 });
  builder.queue();
  return builder;
}

describe("the store", () => {
  test("evicts the oldest finished response when full, never a running one", () => {
    const store = storeOn();
    store.keep(call(), queued(idOf(0)));
    for (let index = 1; index <= RESPONSES_MAX; index++) store.keep(call(), finished(idOf(index)));
    expect(store.resource(idOf(0)).status).toBe("queued");
    expect(() => store.resource(idOf(1))).toThrow("not found");
    expect(store.resource(idOf(2)).status).toBe("completed");
  });

  test("a response expires after a fixed time, even if it is fetched", () => {
    let nowMs = 0;
    const store = storeOn(memoryState(() => nowMs));
    store.keep(call(), finished(idOf(1)));
    nowMs = RESPONSE_LIFE_MS - 1;
    expect(store.resource(idOf(1)).id).toBe(idOf(1));
    nowMs++;
    expect(() => store.resource(idOf(1))).toThrow("expired");
  });

  test("unfinished responses of an earlier process are failed", () => {
    const state = reopened();
    const before = storeOn(state);
    before.keep(call(), queued(idOf(1)));
    before.keep(call(), finished(idOf(2)));
    const after = storeOn(state);
    expect(after.resource(idOf(1))).toMatchObject({ status: "failed", error: { code: "shutting_down" } });
    expect(after.resource(idOf(2)).status).toBe("completed");
  });

  test("a chain survives the deletion of earlier responses", () => {
    const store = storeOn();
    store.keep(call({ input: "one" }, store), finished(idOf(1)));
    store.keep(call({ input: "two", previous_response_id: idOf(1) }, store), finished(idOf(2)));
    store.delete(idOf(1));
    const { messages } = call({ input: "three", previous_response_id: idOf(2) }, store);
    expect(messages.map(({ content }) => content[0])).toEqual(
      ["one", "Hi", "two", "Hi", "three"].map((said) => ({ type: "text", text: said })),
    );
  });

  test("an error about a file of an earlier response names previous_response_id", () => {
    const store = storeOn();
    const file = { type: "input_file", file_id: "file-1" };
    store.keep(call({ input: [{ role: "user", content: [file] }] }, store), finished(idOf(1)));
    expect(store.conversation(idOf(1)).messages[0]?.content).toEqual([
      { type: "file", source: { type: "stored", id: "file-1" }, param: "previous_response_id" },
    ]);
  });

  test("an incomplete call is not part of the chain", () => {
    const store = storeOn();
    const builder = new ResponseBuilder({ ...responseHead(), head: headOf(idOf(1)), choices: 1 });
    builder.add(ACCEPTED);
    builder.add({ type: "tool_call_start", choice: 0, index: 0, id: "c", name: "find" });
    builder.cancel();
    store.keep(call(), builder);
    expect(store.conversation(idOf(1)).messages.map(({ role }) => role)).toEqual(["user"]);
  });
});

/** A state whose records can be reopened, as after a restart. */
function reopened(): State {
  const state = memoryState();
  const sets = new Map<string, Records<never>>();
  return {
    ...state,
    records: (name, options) => {
      const set = sets.get(name) ?? (state.records(name, options) as Records<never>);
      sets.set(name, set);
      return set;
    },
  };
}

/** Background responses whose runs emit one word and then wait for their abort. */
function hanging(stores = responseStore(ownedState(memoryState()))) {
  const store = stores(SERVER);
  const converse: Converse = async function* (_, signal): AsyncGenerator<AnswerEvent> {
    yield ACCEPTED;
    yield text("He");
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  };
  const thrown: unknown[] = [];
  const failureOf = (error: unknown) => {
    thrown.push(error);
    return { code: "internal_error", message: "a bug" } as const;
  };
  return {
    store,
    thrown,
    background: new BackgroundResponses({ converse, store: stores, failureOf, clock: () => 1 }),
  };
}

describe("background responses", () => {
  test("are failed and stored before the server has stopped", async () => {
    const { store, background, thrown } = hanging();
    background.start(call({ background: true }), headOf(idOf(1)), SERVER);
    await background.close();
    expect(background.running(idOf(1), SERVER)).toBeUndefined();
    expect(store.resource(idOf(1))).toMatchObject({ status: "failed", error: { code: "shutting_down" } });
    expect(thrown).toEqual([]);
  });

  test("are bounded", async () => {
    const { background } = hanging();
    for (let index = 0; index < BACKGROUND_RUNS_MAX; index++) {
      background.start(call({ background: true }), headOf(idOf(index)), SERVER);
    }
    expect(() => background.start(call({ background: true }), headOf(idOf(9999)), SERVER)).toThrow(
      "too many",
    );
    await background.close();
  });

  test("belong to the key that started them, also while they run", async () => {
    const { background } = hanging(responseStore(ownedState(memoryState(), () => "mine")));
    const extra = { background: true, stream: true };
    const mine = { client: "mine", owner: "mine" };
    const theirs = { client: "theirs", owner: "theirs" };
    background.start(call(extra), headOf(idOf(1), extra), mine);
    expect(background.running(idOf(1), theirs)).toBeUndefined();
    expect(background.frames(idOf(1), -1, theirs)).toBeUndefined();
    background.forget(idOf(1), theirs);
    expect(background.frames(idOf(1), -1, mine)).toBeDefined();
    expect(() => background.cancel(idOf(1), theirs)).toThrow("not found");
    expect(background.cancel(idOf(1), mine).id).toBe(idOf(1));
    await background.close();
  });

  test("that stream keep their frames until newer ones evict them", async () => {
    const { background } = hanging();
    const extra = { background: true, stream: true };
    for (let index = 0; index <= FRAME_LOGS_MAX + 1; index++) {
      background.start(call(extra), headOf(idOf(index), extra), SERVER);
      background.cancel(idOf(index), SERVER);
    }
    expect(background.frames(idOf(0), -1, SERVER)).toBeUndefined();
    const reader = background.frames(idOf(FRAME_LOGS_MAX + 1), -1, SERVER);
    const frames: string[] = [];
    for (let frame = await reader?.next(); frame !== undefined; frame = await reader?.next())
      frames.push(frame);
    expect(frames[0]).toStartWith("event: response.created\n");
    expect(frames.at(-1)).toStartWith("event: response.incomplete\n");
    await background.close();
  });
});
