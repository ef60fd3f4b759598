// `svc bench`, and tuning through the server: with engines of their own.

import { describe, expect, test } from "bun:test";
import { defined } from "../../src/core/defined.ts";
import { isAlive } from "../helpers/processes.ts";
import { launchServer, runBinary } from "../helpers/binary.ts";
import { postJson } from "../helpers/post.ts";
import { until } from "../helpers/until.ts";

describe("svc bench", () => {
  const small = [
    "bench",
    "--prompt-len",
    "16",
    "--gen-len",
    "4",
    "--concurrency",
    "1,2",
    "--repetitions",
    "2",
  ];

  test("prints a table", async () => {
    const { exit, out, err } = await runBinary(small);
    expect([exit, err]).toEqual([
      0,
      expect.stringMatching(/^(?:[1-4] of 4: (?:prompt 16|answer 4), .* …\n){4}$/),
    ]);
    expect(out).toMatch(/^svc-tiny: .* MB, 1 thread\n\ntest +tokens +depth +at once +tokens\/s\n/);
    expect(out.match(/^(prompt +16|answer +4) +0 +[12] +[\d.]+ ± [\d.]+(?: \?)?$/gm)).toHaveLength(4);
  });

  test("prints JSON, with what memory and cores allow", async () => {
    const one = ["--gen-len=0", "--concurrency=1", "--repetitions=1", "--depth=10"]; // memory is measured beside each run
    const { exit, out } = await runBinary([...small, ...one, "--roofline", "--json"]);
    expect(exit).toBe(0);
    const { models } = JSON.parse(out);
    expect(models[0]).toMatchObject({ model: "svc-tiny", threads: 1 });
    expect(models[0].rows).toHaveLength(1);
    for (const { depth, repetitions, tokens_per_second: speed, machine, roofline } of models[0].rows) {
      expect(machine.bytes_per_second).toBeGreaterThan(0);
      expect(roofline.share * roofline.tokens_per_second).toBeCloseTo(speed.mean);
      expect([depth, repetitions]).toEqual([10, 1]);
      expect(speed.mean).toBeGreaterThan(0);
    }
  });

  test.each([
    ["more than the context holds", "--prompt-len=100000", /the model's context holds \d+ tokens/],
    ["more sequences than there can be", "--concurrency=129", /at most 128 sequences/],
    [
      "a model that generates no text",
      "--model=flite:slt",
      /^svc: flite:slt cannot be measured\. Name a text model/,
    ],
  ])("%s is told, 1", async (_, flag, words) => {
    const { exit, out, err } = await runBinary(["bench", flag]);
    expect([exit, out]).toEqual([1, ""]);
    expect(err).toMatch(words);
  });
});

describe("POST /v1/models/tune", () => {
  const post = (url: string, path: string, body: unknown, signal?: AbortSignal) =>
    postJson(`${url}${path}`, body, defined({ signal }));

  test("works beside the loaded engine, one at a time, and ends with its client", async () => {
    const server = await launchServer();
    try {
      await until(
        "the model is loaded",
        async () => (await post(server.url, "/v1/models/reload", { model_id: "default" })).ok,
      );
      const served = server.enginePid();
      const client = new AbortController();
      const first = post(server.url, "/v1/models/tune", {}, client.signal);
      const own = await until("it has an engine of its own", () =>
        server.enginePids().find((pid) => pid !== served),
      );
      const second = await post(server.url, "/v1/models/tune", {});
      expect(second.status).toBe(409);
      expect(await second.json()).toMatchObject({ error: { code: "tuning_conflict" } });
      const chat = await post(server.url, "/v1/chat/completions", {
        messages: [{ role: "user", content: "Hi" }],
        max_tokens: 4,
      });
      expect(chat.status).toBe(200);
      client.abort();
      expect(first).rejects.toThrow();
      await until("its engine is gone", () => !isAlive(own) && server.enginePids().length === 1);
      expect(server.enginePid()).toBe(served);
      // The stopping server does not wait for another one.
      const third = until("it is allowed", async () => {
        const { status } = await post(server.url, "/v1/models/tune", { profile: "fast" });
        return status !== 409 && status;
      });
      await until("another one has begun", () => server.enginePids().length > 1);
      server.kill("SIGTERM");
      expect(await third).toBe(503);
      expect(await server.exited).toBe(0);
    } finally {
      await server.stop();
    }
  });
});
