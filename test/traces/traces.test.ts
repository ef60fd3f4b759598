// Traces of requests: their steps, the context that clients send and upstreams get, and their export.

import { expect, test } from "bun:test";
import { metered } from "../../src/access/metered.ts";
import { KeyQuotas } from "../../src/access/quotas.ts";
import { UsageBook } from "../../src/access/usage-book.ts";
import type { AnswerEvent } from "../../src/core/agent.ts";
import type { Caller } from "../../src/core/caller.ts";
import { memoryState } from "../../src/state/memory.ts";
import { ownedState } from "../../src/state/owned.ts";
import { type PlacedSpan, TraceCollector } from "../../src/traces/collector.ts";
import { otlpBody, otlpExporter } from "../../src/traces/otlp.ts";
import { chatBody, testApp, testDeps } from "../helpers/app.ts";
import { ACCEPTED, answer, end, FINISH, playing, text } from "../helpers/run-events.ts";

const CLIENTS = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331";

/** An application that traces, whose answer runs a tool, and the callers of its work. */
function tracing() {
  const spans: PlacedSpan[] = [];
  const collector = new TraceCollector((span) => spans.push(span));
  const callers: Caller[] = [];
  const tool = { round: 1, callId: "call_1", toolName: "python", arguments: "{}" };
  const data = { tool_type: "code_execution" } as const;
  const base = testDeps(playing(answer("Hi")).generate, { log: () => undefined });
  const usage = new UsageBook(ownedState(memoryState()));
  const quotas = new KeyQuotas({ tokensToday: () => 0, clock: Date.now, elapsed: Date.now });
  const work = metered(
    { quotas, usage, models: base.models },
    {
      ...base,
      converse: async function* (_, _signal, caller): AsyncGenerator<AnswerEvent> {
        callers.push(caller);
        caller.watch?.queued(0.001);
        yield ACCEPTED;
        yield { type: "tool_calling", data, ...tool };
        const result = { resultContent: "", images: [], fileIds: [] };
        yield { type: "tool_complete", data, ...result, ...tool };
        yield text("Hi");
        yield end("stop");
        yield FINISH;
      },
    },
  );
  const app = testApp(undefined, {
    ...work,
    tracer: collector,
    day: { log: () => [], traces: () => collector.list() },
  });
  return { app, spans, collector, callers };
}

test("the steps of an answer are spans below the request, under the client's context", async () => {
  const { app, spans, collector, callers } = tracing();
  const headers = {
    "content-type": "application/json",
    traceparent: `${CLIENTS}-01`,
    "x-request-id": "mine",
  };
  const answered = await app.post("/v1/chat/completions", chatBody(), { headers });
  expect(answered.status).toBe(200);
  await answered.text();
  const named = (name: string) => spans.find((span) => span.name.startsWith(name));
  const [request, chat] = [named("POST"), named("chat")];
  expect(request).toMatchObject({
    traceId: CLIENTS.slice(3, 35),
    parentId: CLIENTS.slice(36),
    isRequest: true,
    attributes: {
      "http.response.status_code": 200,
      "gen_ai.request.model": "tiny",
      "svc.request_id": "mine",
    },
  });
  expect(chat).toMatchObject({
    parentId: request?.spanId,
    attributes: { "gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": ["stop"] },
  });
  for (const step of ["prompt", "prefill", "decode", "execute_tool python"])
    expect(named(step)?.parentId, step).toBe(chat?.spanId ?? "");
  expect(named("queue")?.parentId).toBe(request?.spanId ?? "");
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length);
  for (const { startMs, endMs } of spans) {
    expect(startMs).toBeGreaterThanOrEqual((request?.startMs ?? 0) - 1); // the wait was made up
    expect(endMs).toBeGreaterThanOrEqual(startMs);
  }
  expect(callers[0]?.trace?.traceparent).toBe(`${CLIENTS.slice(0, 36)}${request?.spanId}-01`);
  const shown = await (await app.request("/ui/day/traces", { headers: { "x-svc-page": "1" } })).json();
  expect(shown.traces).toHaveLength(1);
  expect(shown.traces[0]).toMatchObject({ requestId: "mine", name: "POST /v1/chat/completions" });
  expect(collector.list()[0]?.spans.map(({ name }) => name)).toContain("decode");
});

test("a request that its client does not sample is shown and not exported; a wrong context begins a trace", async () => {
  const { app, spans, collector } = tracing();
  const send = async (traceparent: string) => {
    const headers = { "content-type": "application/json", traceparent };
    await (await app.post("/v1/chat/completions", chatBody(), { headers })).text();
  };
  await send(`${CLIENTS}-00`);
  expect([spans.length, collector.list().length]).toEqual([0, 1]);
  await send("00-nonsense");
  expect(spans.find(({ isRequest }) => isRequest)?.parentId).toBeUndefined();
  expect(spans[0]?.traceId).toMatch(/^[0-9a-f]{32}$/);
});

test("the last 200 are kept", () => {
  const collector = new TraceCollector();
  for (let index = 0; index < 450; index++)
    collector
      .begin({ id: `r${index}`, traceparent: undefined })
      .end({ name: "POST /x", startMs: 0, endMs: 1 });
  expect(collector.list()).toHaveLength(200);
  expect(collector.list()[0]?.requestId).toBe("r449");
});

test("spans go to a collector by OTLP in JSON; one that is not there is said, and costs no memory", async () => {
  const got: { readonly path: string; readonly key: string | null; readonly body: unknown }[] = [];
  const collector = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      const { pathname } = new URL(request.url);
      got.push({ path: pathname, key: request.headers.get("x-key"), body: await request.json() });
      return Response.json({});
    },
  });
  const lines: string[] = [];
  const log = (line: string): void => void lines.push(line);
  const exporter = otlpExporter({
    endpoint: `http://127.0.0.1:${collector.port}/`,
    headers: { "x-key": "k" },
    log,
  });
  const span = {
    name: "chat m",
    startMs: 1,
    endMs: 2.5,
    traceId: "0".repeat(31) + "1",
    spanId: "0".repeat(15) + "2",
    parentId: undefined,
    isRequest: true,
    attributes: { text: "a", whole: 3, part: 0.5, is: true, list: ["b"] },
    error: "queue_full",
  };
  for (let index = 0; index < 600; index++) exporter.take(span);
  await exporter.close();
  expect(got.map(({ path, key }) => [path, key])).toEqual([
    ["/v1/traces", "k"],
    ["/v1/traces", "k"],
  ]);
  expect(got[0]?.body).toEqual(otlpBody(Array.from({ length: 512 }, () => span)) as never);
  const [sent] =
    (otlpBody([span]) as { resourceSpans: { scopeSpans: { spans: Record<string, unknown>[] }[] }[] })
      .resourceSpans[0]?.scopeSpans[0]?.spans ?? [];
  expect(sent).toMatchObject({
    kind: 2,
    status: { code: 2, message: "queue_full" },
    startTimeUnixNano: expect.stringMatching(/^\d{19}$/),
    attributes: [
      { key: "text", value: { stringValue: "a" } },
      { key: "whole", value: { intValue: "3" } },
      { key: "part", value: { doubleValue: 0.5 } },
      { key: "is", value: { boolValue: true } },
      { key: "list", value: { arrayValue: { values: [{ stringValue: "b" }] } } },
    ],
  });
  await collector.stop(true);
  const gone = otlpExporter({ endpoint: `http://127.0.0.1:${collector.port}`, headers: {}, log });
  gone.take(span);
  await gone.close();
  expect(lines.join()).toContain("1 spans dropped so far");
});
