// What the world sees when an engine process dies: errors for its own runs, and nothing else.

import { expect, test } from "bun:test";
import { type Server, startServer } from "../helpers/binary.ts";
import {
  ask,
  CAPITAL,
  completeText,
  ENDLESS,
  FIRST_TEXT,
  openStream,
  postChat,
} from "../helpers/chat-client.ts";
import { isAlive } from "../helpers/processes.ts";
import { untilInFlight } from "../helpers/prometheus.ts";
import { until, within } from "../helpers/until.ts";

async function modelStatus(server: Server): Promise<string> {
  const list: unknown = await (await fetch(`${server.url}/v1/models`)).json();
  return (list as { data: { status: string }[] }).data[0]?.status ?? "none"; // the wire's shape is tested elsewhere
}

/** Asks until told otherwise; returns how many answers were something else than "ok". */
function watchHealth(server: Server): () => Promise<number> {
  const done = new AbortController();
  const isOk = () =>
    fetch(`${server.url}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
  const watch = (async () => {
    let failures = 0;
    while (!done.signal.aborted) if (!(await isOk())) failures++;
    return failures;
  })();
  return () => {
    done.abort();
    return watch;
  };
}

/** Streams that have begun. */
async function runningStreams(server: Server, count: number) {
  const streams = await Promise.all(
    Array.from({ length: count }, () => openStream(server.url, ask(ENDLESS))),
  );
  await Promise.all(streams.map((stream) => stream.readTo(FIRST_TEXT)));
  return streams;
}

test("kill -9 of the engine while streams run, three times in a row", async () => {
  const server = await startServer();
  await completeText(server.url, ask(CAPITAL));
  const stopWatching = watchHealth(server);
  for (let round = 0; round < 3; round++) {
    const streams = await runningStreams(server, 8);
    const engine = server.enginePid();
    process.kill(engine, "SIGKILL");
    const answers = await within(
      5_000,
      "all streams end",
      Promise.all(streams.map((stream) => stream.finish())),
    );
    for (const { errors, text } of answers) {
      expect(errors).toMatchObject([{ code: "engine_failed", type: "server_error" }]);
      expect(text).toStartWith("1");
    }
    expect(await completeText(server.url, ask(CAPITAL))).toBe(CAPITAL.answer);
    expect(server.enginePid()).not.toBe(engine);
  }
  expect(await stopWatching()).toBe(0);
  expect(server.stderr()).toContain("svc-tiny: the engine process ended unexpectedly (signal SIGKILL)");
});

test.each(["SIGABRT", "SIGSEGV"] as const)(
  "native code that fails (%s) is reported in our words",
  async (signal) => {
    const server = await startServer();
    await completeText(server.url, ask(CAPITAL));
    process.kill(server.enginePid(), signal);
    await until("the death is noticed", () => server.stderr().includes("ended unexpectedly"));
    expect(await completeText(server.url, ask(CAPITAL))).toBe(CAPITAL.answer);
    const said = server.stderr();
    expect(said).toContain(`svc engine: native code failed (${signal}`);
    expect(said).toContain(`svc-tiny: the engine process ended unexpectedly (signal ${signal})`);
    expect(said).not.toContain("Bun");
    expect(said).not.toContain("core dumped");
  },
);

test("a body that the engine was working on becomes a 500", async () => {
  const server = await startServer();
  await completeText(server.url, ask(CAPITAL));
  server.pauseEngine();
  const whole = postChat(server.url, ask(CAPITAL));
  const stream = postChat(server.url, ask(CAPITAL, { stream: true })); // not accepted yet: no headers
  await untilInFlight(server.url, 2);
  process.kill(server.enginePid(), "SIGKILL");
  for (const response of await Promise.all([whole, stream])) {
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({ error: { code: "engine_failed", type: "server_error" } });
  }
});

test("requests wait until an engine that has died is back", async () => {
  const server = await startServer();
  await until("the model is loaded", async () => (await modelStatus(server)) === "loaded");
  process.kill(server.enginePid(), "SIGKILL");
  await server.says("ended unexpectedly");
  expect(await completeText(server.url, ask(CAPITAL))).toBe(CAPITAL.answer);
  expect(await modelStatus(server)).toBe("loaded");
});

test("kill -9 of the server: its engines end by themselves", async () => {
  const server = await startServer();
  await server.says("Ready.");
  const [stream] = await runningStreams(server, 1);
  const engine = server.enginePid();
  server.kill("SIGKILL");
  await until("the engine ends", () => !isAlive(engine), 5_000);
  await stream?.finish().catch(() => {});
});

test("arguments of a call that are nested 100,000 deep end no engine", async () => {
  const server = await startServer();
  await server.says("Ready.");
  const engines = server.enginePids();
  const json = `{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
  const called = { id: "c1", type: "function", function: { name: "f", arguments: json } };
  const messages = [
    { role: "user", content: "Hello" },
    { role: "assistant", content: null, tool_calls: [called] },
    { role: "tool", tool_call_id: "c1", content: "done" },
  ];
  const refused = await postChat(server.url, { messages, max_tokens: 4 });
  expect([refused.status, await refused.json()]).toMatchObject([
    400,
    { error: { code: "context_length_exceeded", param: "messages" } },
  ]);
  expect(await completeText(server.url, ask(CAPITAL))).toBe(CAPITAL.answer);
  expect(server.enginePids()).toEqual(engines);
});
