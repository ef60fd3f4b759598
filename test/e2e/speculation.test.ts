// A draft model in the executable: answers as without it, and counters that show its hits.

import { expect, test } from "bun:test";
import { launchServer, startServer, TINY_FILE } from "../helpers/binary.ts";
import { ask, CAPITAL, completeText, COUNT_100 } from "../helpers/chat-client.ts";
import { postJson } from "../helpers/post.ts";
import { valueOf } from "../helpers/prometheus.ts";
import { tinyOtherVocabulary } from "../helpers/tiny-models.ts";
import { until } from "../helpers/until.ts";

test("a model named by mtp_model drafts, and answers stay the same", async () => {
  const server = await startServer(["--mtp-model", TINY_FILE, "--mtp-n-predict", "4"]);
  const questions = [CAPITAL, COUNT_100, CAPITAL, COUNT_100];
  const answers = await Promise.all(questions.map((question) => completeText(server.url, ask(question))));
  const plain = await startServer();
  const expected = await Promise.all(questions.map((question) => completeText(plain.url, ask(question))));
  expect(answers).toEqual(expected);
  const hits = await until("draft hits", async () => {
    const text = await (await fetch(`${server.url}/metrics`)).text();
    const value = valueOf(text, "svc_draft_hits_total") ?? 0;
    return value > 0 ? value : undefined;
  });
  expect(hits).toBeGreaterThan(0);
});

test("sampled drafts leave what a seed samples, at any number of draft tokens", async () => {
  const sampled = { temperature: 1, top_p: 0.95, seed: 11 };
  const said = async (...flags: readonly string[]): Promise<readonly string[]> => {
    const server = await startServer(["--mtp-model", TINY_FILE, ...flags]);
    const questions = [CAPITAL, COUNT_100, CAPITAL];
    return Promise.all(questions.map((question) => completeText(server.url, ask(question, sampled))));
  };
  const drawn = ["--mtp-draft-sampling", "probabilistic"];
  const [one, many] = [await said(...drawn, "--mtp-n-predict", "1"), await said("--mtp-n-predict", "6")];
  expect(many).toEqual(one);
});

test("one that does not fit the model is refused, and the log says why", async () => {
  const server = await launchServer(["--mtp-model", tinyOtherVocabulary()]);
  const response = await postJson(`${server.url}/v1/chat/completions`, ask(CAPITAL));
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({ error: { code: "model_unavailable" } });
  await server.says("mtp_model cannot be the draft model of this model: ");
  await server.stop();
});
