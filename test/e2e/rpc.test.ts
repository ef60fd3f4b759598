// One model over two workers: the same answers as alone, and a lost worker is an error of its own.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { newFolder, runBinary, startServer } from "../helpers/binary.ts";
import {
  ask,
  completeText,
  COUNT_30,
  ENDLESS,
  FIRST_TEXT,
  openStream,
  postChat,
} from "../helpers/chat-client.ts";
import { startRpcWorker, WORKER_ENV as ENV } from "../helpers/rpc-worker.ts";
import { until, within } from "../helpers/until.ts";

test("a model over two workers answers as it does alone; a lost worker is named, and the model comes back", async () => {
  const [one, two] = await Promise.all([startRpcWorker(), startRpcWorker()]);
  const file = join(newFolder(), "rpc.toml");
  const list = [one, two].map(({ port }) => `"127.0.0.1:${port}"`).join(", ");
  const device = `rpc = [${list}]\nrpc_token_source = "env:SVC_TEST_TOKEN"`;
  writeFileSync(file, `[[models]]\nmodel_id = "svc-tiny"\n[models.device]\n${device}\n`);
  const doctor = await runBinary(["doctor", file], { env: ENV });
  expect(doctor.out.match(/ok\s+rpc 127/g)).toHaveLength(2);
  const server = await startServer([file], { env: ENV });
  expect(await completeText(server.url, ask(COUNT_30))).toBe(COUNT_30.answer);
  const info: unknown = await (await fetch(`${server.url}/v1/system/info`)).json();
  expect(JSON.stringify(info)).toMatch(/RPC0.*RPC1/);
  const stream = await openStream(server.url, ask(ENDLESS));
  await stream.readTo(FIRST_TEXT);
  await two.kill();
  const { errors } = await within(20_000, "the stream ends", stream.finish());
  expect(errors).toMatchObject([{ code: "rpc_worker_lost" }]);
  await startRpcWorker(two.port);
  // Until the worker is back, requests are told so.
  const answer = await until(
    "an answer",
    async () => {
      const response = await postChat(server.url, ask(COUNT_30));
      const body = await response.text();
      if (response.status === 200) return body;
      expect([response.status, body]).toEqual([503, expect.stringContaining('"code":"rpc_worker_lost"')]);
      return undefined;
    },
    30_000,
  );
  expect(answer).toContain(COUNT_30.answer);
}, 90_000);

test("a worker that other machines can reach needs a token", async () => {
  const { exit, err } = await runBinary(["rpc-worker", "--listen", "0.0.0.0:50199"]);
  expect([exit, err]).toEqual([1, expect.stringContaining("--token-source")]);
  const unknown = await runBinary(["rpc-worker", "--token-source", "secret"]);
  expect([unknown.exit, unknown.err]).toEqual([2, expect.stringContaining("env:NAME")]);
});

test("a worker's token that is not set is named by the doctor and at the start", async () => {
  const file = join(newFolder(), "rpc.toml");
  const device = `rpc = ["127.0.0.1:9"]\nrpc_token_source = "env:NOT_SET"`;
  writeFileSync(file, `[[models]]\nmodel_id = "svc-tiny"\n[models.device]\n${device}\n`);
  const [doctor, { exit, err }] = await Promise.all([
    runBinary(["doctor", file]),
    runBinary(["serve", file, "--port", "0"]),
  ]);
  expect([doctor.exit, doctor.out]).toEqual([
    1,
    expect.stringMatching(/FAIL +rpc +rpc_token_source: env:NOT_SET has no token/),
  ]);
  expect([exit, err]).toEqual([1, expect.stringContaining("env:NOT_SET has no token")]);
});
