// Upstreams that break: who gets what, nothing lost twice, nothing generated twice after a byte was sent.

import { describe, expect, onTestFinished, test } from "bun:test";
import { join } from "node:path";
import { SERVER } from "../../src/core/caller.ts";
import type { RunEvent } from "../../src/core/run.ts";
import { DEFAULT_SAMPLING } from "../../src/core/sampling.ts";
import { coalesced } from "../../src/upstream/coalesce.ts";
import { rejection } from "../helpers/failure.ts";
import { chunk, fakeUpstream, HELLO } from "../helpers/fake-upstream.ts";
import { describeWith } from "../helpers/programs.ts";
import { tempDir } from "../helpers/tmp.ts";
import { until } from "../helpers/until.ts";
import { all, chat, errorOf, modelOn, NEVER, textOf } from "../helpers/upstream-model.ts";

const types = (events: readonly RunEvent[]) => events.map(({ type }) => type);

describe("one of two upstreams", () => {
  test("is gone: its requests are answered by the other, and it gets no more", async () => {
    const [dead, well] = [fakeUpstream(), fakeUpstream()];
    const { model, log } = modelOn([dead, well]);
    await model.load();
    dead.stop();
    for (let i = 0; i < 4; i++)
      expect(textOf(await all(model.generate(chat(), NEVER, SERVER)))).toBe("Hello there.");
    expect(well.seen).toHaveLength(4);
    expect(log).toEqual([expect.stringContaining("no connection (ECONNREFUSED); no requests for 60 s")]);
    expect(model.upstreams.map(({ status }) => status)).toEqual(["cooling", "healthy"]);
  });

  test.each([429, 503, 500, 502])("answers %i: the request goes to the other", async (status) => {
    const [ill, well] = [fakeUpstream({ type: "status", status }), fakeUpstream()];
    const { model } = modelOn([ill, well]);
    expect(textOf(await all(model.generate(chat(), NEVER, SERVER)))).toBe("Hello there.");
    expect([ill.seen.length, well.seen.length]).toEqual([1, 1]);
    expect(model.pool.counts.retries).toBe(1);
  });

  test("does not know the model: it is passed over from the start", async () => {
    const [wrong, well] = [fakeUpstream(), fakeUpstream()];
    wrong.cards = [{ id: "another", owned_by: "vllm" }];
    const { model } = modelOn([wrong, well]);
    for (let i = 0; i < 3; i++) await all(model.generate(chat(), NEVER, SERVER));
    expect(wrong.seen).toHaveLength(0);
    expect(model.upstreams[0]?.problem).toBe('it does not serve "m", but another');
  });

  test.each([
    [400, "status 400 for its model list"],
    [401, "it refuses the key (status 401)"],
  ])("answers %i to the request for its model list: it is passed over", async (status, problem) => {
    const [ill, well] = [fakeUpstream(), fakeUpstream()];
    ill.listStatus = status;
    const { model } = modelOn([ill, well]);
    await model.load();
    expect(model.upstreams[0]).toMatchObject({ problem, last_error: problem, status: "cooling" });
    for (let i = 0; i < 3; i++) await all(model.generate(chat(), NEVER, SERVER));
    expect(ill.seen).toHaveLength(0);
  });

  test("hangs: after first_token_timeout its connection is closed, and the other answers", async () => {
    const [hanging, well] = [fakeUpstream({ type: "hang" }), fakeUpstream()];
    const { model } = modelOn([hanging, well], { routing: { firstTokenMs: 500 } });
    expect(textOf(await all(model.generate(chat(), NEVER, SERVER)))).toBe("Hello there.");
    await until("the connection is closed", () => hanging.left === 1);
  });

  test.each([
    ["comments", [": keep-alive\n\n"]],
    ["the head alone", []],
    ["a part of an event", ['data: {"choices":[{"delta":{"con']],
  ])("sends %s and no event: as if it hung", async (_, after) => {
    const [hanging, well] = [fakeUpstream({ type: "hang", after }), fakeUpstream()];
    const { model } = modelOn([hanging, well], { routing: { firstTokenMs: 500 } });
    expect(textOf(await all(model.generate(chat(), NEVER, SERVER)))).toBe("Hello there.");
    await until("the connection is closed", () => hanging.left === 1);
  });

  test("fails three times in a row: a cooldown begins", async () => {
    const [ill, well] = [fakeUpstream({ type: "status", status: 500 }), fakeUpstream()];
    const { model, log } = modelOn([ill, well]);
    for (let i = 0; i < 9; i++)
      expect(errorOf(await all(model.generate(chat(), NEVER, SERVER)))).toBeUndefined();
    expect([ill.seen.length, well.seen.length]).toEqual([3, 9]);
    expect(log).toEqual([expect.stringContaining("status 500; no requests for 60 s")]);
  });

  test("breaks after the head: repeated, as this server runs no tools", async () => {
    const [ill, well] = [fakeUpstream({ type: "close", after: "head" }), fakeUpstream()];
    const { model } = modelOn([ill, well]);
    expect(textOf(await all(model.generate(chat(), NEVER, SERVER)))).toBe("Hello there.");
  });

  test("speaks no TLS although its address says so", async () => {
    const well = fakeUpstream();
    const other = fakeUpstream();
    const { model, log } = modelOn([{ url: other.url.replace("http:", "https:") }, well]);
    expect(textOf(await all(model.generate(chat(), NEVER, SERVER)))).toBe("Hello there.");
    expect(log[0]).toContain("no connection (EPROTO)");
  });
});

describeWith("openssl")("an upstream whose certificate nobody signed", () => {
  test("gets no request, and no key", async () => {
    const folder = tempDir();
    const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
    const made = [
      "-x509",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:prime256v1",
      "-nodes",
      "-days",
      "1",
    ];
    const names = ["-subj", "/CN=localhost", "-keyout", key, "-out", cert];
    expect(Bun.spawnSync(["openssl", "req", ...made, ...names]).exitCode).toBe(0);
    let asked = 0;
    const secure = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      tls: { key: Bun.file(key), cert: Bun.file(cert) },
      fetch: () => {
        asked++;
        return Response.json({ data: [] });
      },
    });
    onTestFinished(() => void secure.stop(true));
    const well = fakeUpstream();
    const { model, log } = modelOn([{ url: `https://127.0.0.1:${secure.port}/v1` }, well]);
    expect(textOf(await all(model.generate(chat(), NEVER, SERVER)))).toBe("Hello there.");
    expect(log[0]).toMatch(/no connection \(.*CERT.*\); no requests for 60 s/);
    expect(asked).toBe(0);
  });
});

describe("after the first byte nothing is repeated", () => {
  const begun = HELLO.slice(0, 2);
  test.each([
    ["the connection breaks", { type: "close", after: begun }, "closed the connection within the answer"],
    ["the stream ends early", { type: "answer", chunks: begun }, "ended the answer before it was complete"],
    [
      "garbage follows",
      { type: "answer", pauseMs: 20, chunks: [...begun, { choices: 5 }] },
      "sent an event that is not a completion",
    ],
    [
      "garbage follows in the same packet",
      { type: "answer", chunks: [...begun, { choices: 5 }] },
      "sent an event that is not a completion",
    ],
    [
      "an error follows",
      { type: "answer", pauseMs: 20, chunks: [...begun, { error: { message: "out of memory" } }] },
      "ended the answer with an error: out of memory",
    ],
  ] as const)("%s: one error in band", async (_, behaviour, what) => {
    const [ill, well] = [fakeUpstream(behaviour), fakeUpstream()];
    const { model } = modelOn([ill, well]);
    const events = await all(model.generate(chat(), NEVER, SERVER));
    expect(types(events)).toEqual(["accepted", "text", "error"]);
    expect(errorOf(events)).toMatchObject({
      code: "upstream_failed",
      message: `the upstream server ${what}`,
    });
    expect(well.seen).toHaveLength(0);
    expect(model.pool.inFlight).toBe(0);
  });

  test("silence within it: one error in band, and the connection is closed", async () => {
    const event = `data: ${JSON.stringify(chunk({ content: "Hello" }))}\n\n`;
    const [ill, well] = [fakeUpstream({ type: "hang", after: [event] }), fakeUpstream()];
    const { model } = modelOn([ill, well], { routing: { silenceMs: 60 } });
    const events = await all(model.generate(chat(), NEVER, SERVER));
    expect(types(events)).toEqual(["accepted", "text", "error"]);
    expect(errorOf(events)?.message).toBe("the upstream server sent nothing for 0.06 seconds");
    expect(well.seen).toHaveLength(0);
    await until("the connection is closed", () => ill.left === 1);
  });

  test("a server that may run tools is not asked again after a timeout or a reset", async () => {
    for (const behaviour of [{ type: "hang" }, { type: "close", after: "nothing" }] as const) {
      const [ill, well] = [fakeUpstream(behaviour), fakeUpstream()];
      for (const one of [ill, well]) one.cards = [{ id: "m", owned_by: "somebody" }];
      const { model } = modelOn([ill, well], { routing: { firstTokenMs: 500 } });
      const error = errorOf(await all(model.generate(chat(), NEVER, SERVER)));
      expect(error?.code).toBe("upstream_failed");
      expect(well.seen).toHaveLength(0);
    }
  });

  test("garbage at once is an error without a second try", async () => {
    for (const data of [undefined, "data: <html>\n\n", "event: x\n\n"]) {
      const ill = fakeUpstream(data === undefined ? { type: "garbage" } : { type: "garbage", data });
      ill.cards = [{ id: "m", owned_by: "somebody" }];
      const { model } = modelOn([ill]);
      const events = await all(model.generate(chat(), NEVER, SERVER));
      expect(types(events)).toEqual(["error"]);
      expect(errorOf(events)?.code).toBe("upstream_failed");
      expect(ill.seen).toHaveLength(1);
    }
  });

  test("slow drips are answers", async () => {
    const slow = fakeUpstream({ type: "answer", pauseMs: 10 });
    const { model } = modelOn([slow], { routing: { firstTokenMs: 1000 } });
    expect(textOf(await all(model.generate(chat(), NEVER, SERVER)))).toBe("Hello there.");
  });
});

describe("refusals of upstreams become ours", () => {
  const refused = async (status: number, body: unknown) => {
    const upstream = fakeUpstream({ type: "status", status, body });
    const { model } = modelOn([upstream], { each: { key: "secret-key" } });
    const error = errorOf(await all(model.generate(chat(), NEVER, SERVER)));
    expect(JSON.stringify(error)).not.toContain("secret-key");
    return { ...error, asked: upstream.seen.length };
  };

  test.each([
    ["vLLM", { object: "error", message: "This model's maximum context length is 4096 tokens.", code: 400 }],
    ["OpenAI", { error: { code: "context_length_exceeded", message: "too long" } }],
    [
      "llama-server",
      { error: { code: 400, type: "exceed_context_size_error", message: "the request exceeds" } },
    ],
    ["svc", { error: { code: "context_length_exceeded", message: "The prompt has 5000 tokens." } }],
  ])("%s: the prompt is too long", async (_, body) => {
    expect(await refused(400, body)).toMatchObject({ code: "context_length_exceeded", asked: 1 });
  });

  test("a bad field keeps its name; our codes stay; the key is never told", async () => {
    expect(
      await refused(400, { error: { message: "top_k must be positive", param: "top_k" } }),
    ).toMatchObject({
      code: "invalid_request",
      param: "top_k",
    });
    expect(
      await refused(400, { error: { code: "unsupported_value", message: "no secret-key", param: "stop" } }),
    ).toMatchObject({ code: "unsupported_value", message: "no …", param: "stop" });
    expect(await refused(422, { detail: "nonsense" })).toMatchObject({
      code: "invalid_request",
      message: "nonsense",
    });
  });

  test("what only the operator can mend is no fault of the client's", async () => {
    expect(await refused(401, { error: { message: "bad key secret-key" } })).toMatchObject({
      code: "upstream_failed",
    });
    expect(await refused(404, { error: { message: "no model" } })).toMatchObject({ code: "upstream_failed" });
  });

  test("429 of all upstreams: 429 with a time to wait", async () => {
    const upstream = fakeUpstream({ type: "status", status: 429, headers: { "retry-after": "7" } });
    const { model } = modelOn([upstream], { routing: { retries: 0 } });
    const error = errorOf(await all(model.generate(chat(), NEVER, SERVER)));
    expect(error).toMatchObject({ code: "queue_full", retryAfterSecs: 7 });
  });
});

describe("queue and cancellation", () => {
  test("max_inflight holds; the others wait in order, up to max_queue", async () => {
    const upstream = fakeUpstream({ type: "answer", pauseMs: 5 });
    const { model } = modelOn([upstream], { routing: { queueMax: 3 }, each: { maxInFlight: 2 } });
    await model.load();
    const runs = Array.from({ length: 6 }, () => all(model.generate(chat(), NEVER, SERVER)));
    const ended = await Promise.all(runs);
    const errors = ended.map((events) => errorOf(events)?.code);
    expect(errors).toEqual([undefined, undefined, undefined, undefined, undefined, "queue_full"]);
    expect(upstream.openMax).toBe(2);
  });

  test("a client that leaves cancels the upstream, in an answer and before it", async () => {
    const upstream = fakeUpstream({ type: "answer", pauseMs: 20 });
    const { model } = modelOn([upstream]);
    const leaving = new AbortController();
    for await (const event of model.generate(chat(), leaving.signal, SERVER))
      if (event.type === "text") leaving.abort();
    await until("the upstream sees it", () => upstream.left === 1);
    upstream.behaviour = { type: "hang" };
    const early = new AbortController();
    const run = all(model.generate(chat(), early.signal, SERVER));
    await until("it is asked", () => upstream.open === 1);
    early.abort();
    expect(await run).toEqual([]);
    await until("the upstream sees it", () => upstream.left === 2);
    expect([model.pool.inFlight, model.activeRuns]).toEqual([0, 0]);
  });

  test("a probe of one token, where it is asked for, finds an upstream that only lists its models", async () => {
    const [ill, well] = [fakeUpstream({ type: "status", status: 404 }), fakeUpstream()];
    const { model } = modelOn([ill, well], { each: { probe: true } });
    await model.load();
    expect(model.upstreams.map(({ status }) => status)).toEqual(["cooling", "healthy"]);
    expect(well.seen.map(({ body }) => body["max_tokens"])).toEqual([1]);
    expect(textOf(await all(model.generate(chat(), NEVER, SERVER)))).toBe("Hello there.");
    expect([ill.seen.length, well.seen.length, model.pool.inFlight]).toEqual([1, 2, 0]);
  });

  test("an upstream that returns gets one trial, then all", async () => {
    const upstream = fakeUpstream();
    const { model, log } = modelOn([upstream], { routing: { cooldownMs: 50, retries: 0 } });
    await model.load();
    upstream.stop();
    expect(errorOf(await all(model.generate(chat(), NEVER, SERVER)))?.code).toBe("upstream_failed");
    const refused = errorOf(await all(model.generate(chat(), NEVER, SERVER)));
    expect(refused).toMatchObject({ code: "model_unavailable", retryAfterSecs: 1 });
    upstream.start();
    await until(
      "it answers again",
      async () => textOf(await all(model.generate(chat(), NEVER, SERVER))) !== "",
    );
    expect(log.at(-1)).toContain("it answers again");
  });

  test("half of the pool gone under load: every request is answered once", async () => {
    const pool = Array.from({ length: 4 }, () => fakeUpstream({ type: "answer", pauseMs: 2 }));
    const { model } = modelOn(pool, { routing: { policy: "least_busy" } });
    await model.load();
    const whole: string[] = [];
    const codes: (string | undefined)[] = [];
    const runs: Promise<void>[] = [];
    let begun = 0; // when their upstream went
    for (let i = 0; i < 200; i++) {
      const goes = i === 60 ? pool[0] : i === 120 ? pool[1] : undefined;
      begun += goes?.open ?? 0;
      goes?.stop();
      runs.push(
        all(model.generate(chat(), NEVER, SERVER)).then((events) => {
          const code = errorOf(events)?.code;
          codes.push(code);
          if (code === undefined) whole.push(textOf(events));
          expect(types(events).filter((type) => type === "finish" || type === "error")).toHaveLength(1);
        }),
      );
      await Bun.sleep(1);
    }
    await Promise.all(runs);
    const broken = codes.filter((code) => code !== undefined);
    expect(new Set(broken)).toEqual(broken.length > 0 ? new Set(["upstream_failed"]) : new Set());
    expect(whole.filter((text) => text === "Hello there.")).toHaveLength(200 - broken.length);
    expect(broken.length).toBeLessThanOrEqual(begun);
  });
});

describe("fallbacks", () => {
  test("answer between runs, named, and not after a refusal of the request itself", async () => {
    const [down, up] = [fakeUpstream(), fakeUpstream()];
    down.stop();
    const { model: second } = modelOn([up]);
    const { model } = modelOn([down], { fallbacks: () => [{ id: "small", model: second }] });
    const events = await all(model.generate(chat(), NEVER, SERVER));
    expect(events[0]).toMatchObject({ type: "accepted", answeredBy: "small" });
    expect(textOf(events)).toBe("Hello there.");
    expect(model.pool.counts.fallbacks).toBe(1);
    expect(up.seen[0]?.body["model"]).toBe("m");

    const bad = fakeUpstream({ type: "status", status: 400, body: { error: { message: "bad" } } });
    const { model: refusing } = modelOn([bad], { fallbacks: () => [{ id: "small", model: second }] });
    expect(errorOf(await all(refusing.generate(chat(), NEVER, SERVER)))?.code).toBe("invalid_request");
    expect(up.seen).toHaveLength(1);
  });

  test("that cannot honour the request leave the first error", async () => {
    const [down, up] = [fakeUpstream(), fakeUpstream()];
    down.stop();
    up.cards = [{ id: "m", owned_by: "library" }];
    const { model: second } = modelOn([up]);
    const { model } = modelOn([down], { fallbacks: () => [{ id: "small", model: second }] });
    const request = chat({ sampling: { ...DEFAULT_SAMPLING, logitBias: [{ token: 1, bias: 1 }] } });
    expect(errorOf(await all(model.generate(request, NEVER, SERVER)))?.code).toBe("model_unavailable");
    expect(up.seen).toHaveLength(0);
  });
});

test("a field that no upstream honours is refused by its name, before anything is sent", async () => {
  const upstream = fakeUpstream();
  upstream.cards = [{ id: "m", owned_by: "library" }];
  const { model } = modelOn([upstream]);
  const events = await all(
    model.generate(chat({ sampling: { ...DEFAULT_SAMPLING, minP: 0.1 } }), NEVER, SERVER),
  );
  expect(errorOf(events)).toEqual({
    code: "unsupported_capability",
    message:
      'no upstream server of the model "big" (ollama) supports min_p; leave it out, or name another model',
    param: "min_p",
  });
  expect(upstream.seen).toHaveLength(0);
});

test("llama-server states its context and media beside its model list", async () => {
  const upstream = fakeUpstream();
  upstream.cards = [{ id: "m", owned_by: "llamacpp", meta: { n_ctx: 2048, n_ctx_train: 4096 } }];
  const { model } = modelOn([upstream]);
  expect(await model.load()).toMatchObject({ contextTokens: 2048, modalities: ["image"] });
});

test("501 names what an upstream does not do; another one may", async () => {
  const behaviour = { type: "status", status: 501, body: { error: { message: "no embeddings" } } } as const;
  const { model } = modelOn([fakeUpstream(behaviour)]);
  const refused = await rejection(
    model.embed({ model: "big", inputs: ["a"], truncate: false }, NEVER, SERVER),
  );
  expect(refused).toMatchObject({ code: "unsupported_capability", message: "no embeddings" });
  expect(model.upstreams[0]).toMatchObject({ status: "healthy" });
});

test("of two kinds of servers the request goes to the one that honours it", async () => {
  const [ollama, vllm] = [fakeUpstream(), fakeUpstream()];
  ollama.cards = [{ id: "m", owned_by: "library" }];
  const { model } = modelOn([ollama, vllm]);
  const request = chat({ sampling: { ...DEFAULT_SAMPLING, minP: 0.1 } });
  for (let i = 0; i < 3; i++) await all(model.generate(request, NEVER, SERVER));
  expect([ollama.seen.length, vllm.seen.length]).toEqual([0, 3]);
  expect(vllm.seen[0]?.body["min_p"]).toBe(0.1);
});

const edit = (turns: number) => ({
  type: "clear_thinking_20251015",
  cleared_thinking_turns: turns,
  cleared_input_tokens: 5,
});

test("reasoning in either spelling, tools numbered alike, and counts", async () => {
  const upstream = fakeUpstream({
    type: "answer",
    chunks: [
      { ...chunk({}), context_management: { applied_edits: [edit(1)] } },
      { ...chunk({}), context_management: { applied_edits: [edit(1), edit(2)] } },
      chunk({ reasoning: "Hm." }),
      chunk({ reasoning_content: " So." }),
      chunk({ tool_calls: [{ index: 0, id: "a", function: { name: "f", arguments: '{"x":' } }] }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: "1}" } }] }),
      chunk({ tool_calls: [{ index: 0, id: "b", function: { name: "g", arguments: "{}" } }] }),
      chunk({}, "stop"),
      {
        choices: [],
        usage: {
          prompt_tokens: 9,
          completion_tokens: 8,
          prompt_tokens_details: { cached_tokens: 4 },
          completion_tokens_details: { reasoning_tokens: 3, closed_thoughts: 1 },
        },
      },
    ],
  });
  const { model } = modelOn([upstream]);
  const events = await all(model.generate(chat(), NEVER, SERVER));
  // They may arrive in one read or in several.
  expect(coalesced(events.slice(1, -1))).toEqual([
    { type: "context_edited", edits: [{ type: "clear_thinking", turns: 1, tokens: 5 }] },
    { type: "context_edited", edits: [{ type: "clear_thinking", turns: 2, tokens: 5 }] },
    { type: "reasoning", choice: 0, text: "Hm. So." },
    { type: "tool_call_start", choice: 0, index: 0, id: "a", name: "f" },
    { type: "tool_call_args", choice: 0, index: 0, delta: '{"x":1}' },
    { type: "tool_call_start", choice: 0, index: 1, id: "b", name: "g" },
    { type: "tool_call_args", choice: 0, index: 1, delta: "{}" },
    { type: "choice_end", choice: 0, reason: "tool_calls" },
  ]);
  expect(events.at(-1)).toMatchObject({
    usage: { promptTokens: 9, cachedTokens: 4, completionTokens: 8, reasoningTokens: 3, closedThoughts: 1 },
  });
});
