// Commands of the executable that talk to a running server, and the chat that uses one.

import { expect, test } from "bun:test";
import { fileServer, HAS_TERMINAL, newFolder, openTerminal, runBinary } from "../helpers/binary.ts";

const server = fileServer([
  "-m",
  "svc-tiny",
  "--alias",
  "small",
  "--alias",
  "tiny=small",
  "--api-keys",
  "secret",
]);
const QUESTION = "What is the capital of France?";

function address(): readonly string[] {
  return ["--host", "127.0.0.1", "--port", new URL(server().url).port, "--api-keys", "secret"];
}

const ask = (...words: readonly string[]) => runBinary([...words, ...address()]);

test("ps, list and show name the model; pin keeps it; stop unloads it, and a request loads it again", async () => {
  await server().says("Ready.");
  for (const command of ["ps", "list", "ls"]) {
    const { exit, out } = await ask(command);
    expect([exit, out]).toEqual([
      0,
      expect.stringMatching(/^NAME +KIND +STATUS .*\nsmall +text +loaded +\d+/),
    ]);
  }
  const shown = await ask("show", "small", "--json");
  expect(JSON.parse(shown.out)).toMatchObject({ id: "small", kind: "text", status: "loaded" });
  expect((await ask("show", "default")).out).toMatch(/^name +small\n/);
  expect((await ask("pin", "small")).out).toContain("small is pinned");
  expect((await ask("ps")).out).toContain("loaded, pinned");
  const headers = { authorization: "Bearer secret" };
  const metrics = await (await fetch(`${server().url}/metrics`, { headers })).text();
  expect(metrics).toMatch(/^svc_models_loaded 1\n[^]*^svc_models_pinned 1$/m);
  expect((await ask("unpin", "small")).out).toContain("small is no longer pinned");
  expect((await ask("ps")).out).not.toContain("pinned");
  expect((await ask("stop", "small")).out).toContain("small is unloaded");
  expect((await ask("ps")).out).toContain("No model is loaded");
});

test("a chat uses a server that has its model, and loads its own where the server lacks it or --local is said", async () => {
  const asked = () => server().stderr().split("POST /v1/chat/completions 200").length - 1;
  const before = asked();
  expect((await ask("run", QUESTION)).out).toBe("The capital of France is Paris.\n");
  expect((await ask("run", "-m", "svc-tiny", "--local", QUESTION)).out).toContain("Paris");
  expect(asked() - before).toBe(1);
  expect(server().enginePids()).toHaveLength(1);
  expect((await ask("run", "-m", "tiny", QUESTION)).out).toBe("The capital of France is Paris.\n");
  expect(asked() - before).toBe(2);
  const unknown = await ask("run", "-m", "tinier", QUESTION);
  expect([unknown.exit, unknown.err]).toEqual([2, expect.stringContaining("tinier")]);
});

test("mistakes: no server, another server, no key, no such model", async () => {
  const away = await runBinary(["ps", "--port", "9"]);
  expect([away.exit, away.err]).toEqual([
    1,
    expect.stringContaining("No server answers at http://127.0.0.1:9"),
  ]);
  const other = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => Response.json({ hello: 1 }) });
  const foreign = await runBinary(["ps", "--port", String(other.port)]);
  await other.stop(true);
  expect(foreign.err).toContain("is not a svc server");
  const keyless = await runBinary(["ps", "--port", new URL(server().url).port]);
  expect(keyless.err).toContain("The server requires a key: --api-keys KEY");
  expect((await ask("show", "large")).err).toContain("No model large is served. Served: small");
});

test.skipIf(!HAS_TERMINAL)("a chat on a terminal says which server answers, and remembers", async () => {
  const terminal = openTerminal(`run ${address().join(" ")}`, newFolder());
  await terminal.shows(/Chatting with small .*served at http:\/\/127\.0\.0\.1/);
  terminal.type(`/temperature 0\r${QUESTION}\r`);
  await terminal.shows(/capital of France is Paris[^]*tok\/s/);
  terminal.type("/context\r");
  await terminal.shows(/\d+ of \d+ tokens/);
  terminal.type("/exit\r");
  expect(await terminal.exited).toBe(0);
});
