// llm-d's simulator of vLLM behind svc: vLLM's wire format in three APIs, and the failures that it injects. Its texts are
// random, and it does not follow schemas.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { until } from "../helpers/until.ts";
import { entry, type Front, startFront } from "./front.ts";
import {
  describeWithPrograms,
  INFERENCE_SIM,
  type Running,
  SETUP_MS,
  startProgram,
  stopAll,
} from "./programs.ts";
import * as suite from "./suite.ts";
import { postJson } from "../helpers/post.ts";

const HELLO = [{ role: "user" as const, content: "Hello there, how are you?" }];

describeWithPrograms(INFERENCE_SIM)("llm-d-inference-sim", () => {
  let [first, second]: Running[] = [];
  let front: Front;
  const start = (): Promise<Running> =>
    startProgram({
      program: INFERENCE_SIM,
      args: (port) =>
        (
          `--port ${port} --model sim --max-model-len 4096 --seed 7 --max-num-seqs 64 ` +
          "--inter-token-latency 10ms --force-dummy-tokenizer"
        ).split(" "),
      ready: "/health",
    });
  /** From now on the engine answers so many percent of the requests with this failure. */
  const inject = async (engine: Running | undefined, rate: number, type: string): Promise<void> => {
    const answer = await postJson(`${engine?.url}/admin/config`, {
      "failure-injection-rate": rate,
      "failure-types": [type],
    });
    expect(answer.status).toBe(200);
  };
  const ask = (model: string) =>
    front.openAi.chat.completions.create({ model, messages: HELLO, max_tokens: 16 });

  afterAll(stopAll);
  beforeAll(async () => {
    [first, second] = await Promise.all([start(), start()]);
    const upstream = (engine: Running | undefined) => ({ url: `${engine?.url}/v1`, model: "sim" });
    const fast = "[models.routing]\ncooldown = 0.2\n";
    front = await startFront([
      entry("chat", [upstream(first)], fast),
      entry("pool", [upstream(first), upstream(second)], `${fast}policy = "round_robin"\n`),
    ]);
  }, SETUP_MS);

  describe("by chat", () => {
    // It goes on with a request whose client has left.
    suite.dialectTests(
      "chat",
      () => front,
      async () => 0,
    );
    suite.logprobTests("chat", () => front);
    suite.completionTests("chat", () => front);
    suite.countTests("chat", () => front);
    suite.embeddingTests("chat", () => front);
  });

  test("it is taken for vLLM", async () => {
    expect(await front.upstreams("chat")).toMatchObject([{ engine: "vllm", status: "healthy" }]);
  });

  test.each([
    ["rate_limit", 429, "queue_full"],
    ["invalid_api_key", 503, "upstream_failed"],
    ["context_length", 400, "context_length_exceeded"],
    ["server_error", 503, "model_unavailable"],
    ["invalid_request", 400, "invalid_request"],
    ["model_not_found", 503, "upstream_failed"],
  ])("injected %s: %i %s", async (type, status, code) => {
    await inject(first, 100, type);
    const refused: unknown = await ask("chat").catch((error: unknown) => error);
    expect(refused).toMatchObject({ status, code });
    await inject(first, 0, type);
    await until("it answers again", () => ask("chat").catch(() => false as const));
  });

  test.each(["rate_limit", "invalid_api_key", "server_error", "model_not_found"])(
    "injected %s into one of two: the other answers",
    async (type) => {
      await inject(first, 100, type);
      for (let i = 0; i < 4; i++) expect((await ask("pool")).choices[0]?.message.content).toMatch(/\S/);
      await inject(first, 0, type);
    },
  );

  test("many answers are failures: few requests are", async () => {
    for (const engine of [first, second]) await inject(engine, 30, "rate_limit");
    const answers = await Promise.allSettled(Array.from({ length: 60 }, () => ask("pool")));
    for (const engine of [first, second]) await inject(engine, 0, "rate_limit");
    // Three attempts are refused together once in 37 requests.
    for (const answer of answers)
      if (answer.status === "rejected") expect(answer.reason).toMatchObject({ status: 429 });
    expect(answers.filter(({ status }) => status === "fulfilled").length).toBeGreaterThan(40);
  });
});
