// The access log: one line a request, when its last byte is sent, and nothing of what was said.

import { describe, expect, test } from "bun:test";
import type { ObservedRequest } from "../../src/core/telemetry.ts";
import { accessLine, inBatches } from "../../src/http/access-log.ts";
import { listen } from "../../src/http/server.ts";
import { chatBody, testApp } from "../helpers/app.ts";
import { postJson } from "../helpers/post.ts";
import { ACCEPTED, answer, byHand, end, FINISH, playing, text } from "../helpers/run-events.ts";
import { until } from "../helpers/until.ts";

const CHAT = "/v1/chat/completions";
const SECRET = "a secret nobody should log";
const TIME = new Date("2026-01-02T03:04:05.678Z");

function logging(generate = playing(answer("Hi")).generate) {
  const requests: ObservedRequest[] = [];
  const app = testApp(generate, { accessLog: (request) => void requests.push(request) });
  return { ...app, requests };
}

const SAMPLE: ObservedRequest = {
  id: "req_1",
  method: "POST",
  path: CHAT,
  route: CHAT,
  housekeeping: false,
  model: "tiny",
  bodyBytes: 12,
  streamBytes: 34,
  status: 200,
  error: undefined,
  compat: new Set(),
  unenforced: [],
  clientLeft: false,
  key: undefined,
  queueSecs: undefined,
  seconds: 0.1234567,
};

test("the id of an approval is in no line", () => {
  const request = { ...SAMPLE, path: "/v1/agent/approvals/appr_0123/x" };
  for (const format of ["text", "json"] as const) {
    const line = accessLine(request, format, TIME);
    expect(line).toContain("/v1/agent/approvals/*");
    expect(line).not.toContain("0123");
  }
});

test("a line of text", () => {
  expect(accessLine(SAMPLE, "text", TIME)).toBe(
    `2026-01-02T03:04:05.678Z POST ${CHAT} 200 123.457ms in=12B out=34B model=tiny id=req_1`,
  );
  const plain = { ...SAMPLE, model: "none", bodyBytes: undefined, streamBytes: undefined };
  const served = { ...SAMPLE, compat: new Set(["json_object", "hosted_tool"] as const) };
  expect(accessLine(served, "text", TIME)).toEndWith(" model=tiny compat=json_object,hosted_tool id=req_1");
  const named = { ...plain, key: "Anna B", queueSecs: 0.25 };
  expect(accessLine(named, "text", TIME)).toEndWith(" 123.457ms key=Anna_B queued=250ms id=req_1");
  const failed = { ...plain, status: 503, error: "queue_full", clientLeft: true };
  expect(accessLine(failed, "text", TIME)).toEndWith(" 503 123.457ms error=queue_full client_left id=req_1");
});

test("a line of JSON", () => {
  const sample = { ...SAMPLE, key: "Anna B", queueSecs: 0.25 };
  expect(JSON.parse(accessLine(sample, "json", TIME))).toEqual({
    time: "2026-01-02T03:04:05.678Z",
    method: "POST",
    path: CHAT,
    route: CHAT,
    status: 200,
    duration_ms: 123.457,
    model: "tiny",
    key: "Anna B",
    queue_ms: 250,
    body_bytes: 12,
    stream_bytes: 34,
    error: null,
    compat: [],
    unenforced: [],
    client_left: false,
    request_id: "req_1",
  });
});

test.each(["text", "json"] as const)("a path cannot break or fill a line of %s", (format) => {
  const path = `/${"x".repeat(100)}\n\u001b[31m\u2028${"y".repeat(1000)}`;
  const line = accessLine({ ...SAMPLE, path }, format, TIME);
  expect(line).toMatch(/^[\x20-\x7e]+$/);
  expect(line.length).toBeLessThan(600);
});

test("lines of one turn are written together, in order", async () => {
  const written: string[] = [];
  const log = inBatches((lines) => void written.push(lines));
  log("a");
  log("b");
  expect(written).toEqual([]);
  await until("they are written", () => written.length > 0);
  log("c");
  await until("the next is", () => written.length > 1);
  expect(written).toEqual(["a\nb", "c"]);
});

describe("what is told of a request", () => {
  test("nothing that was asked or answered, and no query", async () => {
    const { post, request, requests } = logging(playing(answer(SECRET)).generate);
    await post(`${CHAT}?token=${encodeURIComponent(SECRET)}`, {
      messages: [{ role: "user", content: SECRET }],
      model: SECRET,
    });
    await request(`/v1/models?key=${encodeURIComponent(SECRET)}#x`, { headers: { authorization: SECRET } });
    expect(requests).toHaveLength(2);
    for (const format of ["text", "json"] as const) {
      const lines = requests.map((one) => accessLine(one, format, TIME)).join("\n");
      expect(lines).not.toContain("secret");
      expect(lines).not.toContain("?");
    }
  });

  test("status, error code, model and id", async () => {
    const { post, requests } = logging();
    await post(CHAT, chatBody({ temperature: 9 }), {
      headers: { "content-type": "application/json", "x-request-id": "mine" },
      body: JSON.stringify(chatBody({ temperature: 9 })),
    });
    expect(requests).toMatchObject([
      { id: "mine", status: 400, error: "invalid_request", model: "tiny", clientLeft: false },
    ]);
  });

  test("probes and the like are marked, so that they can be left out", async () => {
    const { request, requests } = logging();
    for (const path of ["/health", "/", "/metrics", "/docs", "/v1/models"]) await request(path);
    expect(requests.map(({ housekeeping }) => housekeeping)).toEqual([true, true, true, true, false]);
  });
});

describe("a stream", () => {
  test("is told of at its end, once, with its size", async () => {
    const runs = byHand();
    const { post, requests } = logging(runs.generate);
    const pending = post(CHAT, chatBody({ stream: true }));
    const run = await runs.next();
    run.emit(ACCEPTED, text("a"));
    const response = await pending;
    expect(requests).toEqual([]);
    run.emit(end(), FINISH);
    const bytes = (await response.arrayBuffer()).byteLength;
    expect(requests).toMatchObject([
      { status: 200, streamBytes: bytes, clientLeft: false, error: undefined },
    ]);
  });

  test("that breaks has its error", async () => {
    const error = { code: "engine_failed", message: "it died" } as const;
    const { post, requests } = logging(playing([ACCEPTED, text("a"), { type: "error", error }]).generate);
    await (await post(CHAT, chatBody({ stream: true }))).text();
    expect(requests).toMatchObject([{ status: 200, error: "engine_failed" }]);
  });

  test("whose client leaves says so", async () => {
    const runs = byHand();
    const { app, requests } = logging(runs.generate);
    const server = listen(app, { hostname: "127.0.0.1", port: 0 });
    try {
      const leave = new AbortController();
      const pending = postJson(`http://127.0.0.1:${server.port}${CHAT}`, chatBody({ stream: true }), {
        signal: leave.signal,
      });
      const run = await runs.next();
      run.emit(ACCEPTED, text("a"));
      await (await pending).body?.getReader().read();
      leave.abort();
      await run.closed;
      await until("it is logged", () => requests.length === 1);
      expect(requests).toMatchObject([{ status: 200, clientLeft: true }]);
    } finally {
      await server.stop(true);
    }
  });
});

test("an answer nobody waits for any more says so", async () => {
  const runs = byHand();
  const { app, requests } = logging(runs.generate);
  const server = listen(app, { hostname: "127.0.0.1", port: 0 });
  try {
    const leave = new AbortController();
    const pending = postJson(`http://127.0.0.1:${server.port}${CHAT}`, chatBody(), { signal: leave.signal });
    const run = await runs.next();
    run.emit(ACCEPTED, text("a"));
    leave.abort();
    await pending.catch(() => undefined);
    await until("it is logged", () => requests.length === 1);
    expect(requests).toMatchObject([{ clientLeft: true, status: 499, error: undefined }]);
  } finally {
    await server.stop(true);
  }
});
