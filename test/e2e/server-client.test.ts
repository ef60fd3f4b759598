// Commands of the executable that talk to a running server, and the chat that uses one.

import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { CLIENTS, clientNamed } from "../../src/clients/clients.ts";
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

test("a chat with a server that refuses its key answers by no other model", async () => {
  await server().says("Ready.");
  const { port } = new URL(server().url);
  for (const key of [[], ["--api-keys", "wrong"]]) {
    const { exit, out, err } = await runBinary([
      "run",
      QUESTION,
      "--host",
      "127.0.0.1",
      "--port",
      port,
      ...key,
    ]);
    expect([exit, out]).toEqual([1, ""]);
    expect(err).toContain(
      "The server requires a key: --api-keys KEY or SVC_API_KEYS=KEY. Without the server: --local.",
    );
  }
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

describe("svc launch", () => {
  /** A program that shows how it was started, under the names of all clients. */
  function fakePrograms(): string {
    const folder = newFolder();
    const program = join(folder, "fake");
    const names = "ANTHROPIC|OPENAI|SVC_API_KEY|NO_PROXY|CLAUDE";
    writeFileSync(program, `#!/bin/sh\nprintf '%s\\n' "$@"\nenv | grep -E '^(${names})'\nexit 7\n`);
    chmodSync(program, 0o755);
    for (const name of CLIENTS.flatMap(({ programs }) => programs)) symlinkSync(program, join(folder, name));
    return folder;
  }

  const programs = fakePrograms();
  const PATH = `${programs}:/usr/bin:/bin`;
  const USER = {
    json: '{\n  // mine\n  "theme": 1,\n}\n',
    yaml: "# mine\nname: Me\n",
    toml: "a = 1 # mine\n",
  };

  test.each(CLIENTS.map(({ id }) => id))(
    "%s: starts with svc in its file, and leaves it as it was",
    async (id) => {
      const cwd = newFolder();
      const run = (...words: readonly string[]) =>
        runBinary(["launch", id, ...words], { cwd, env: { PATH, NO_PROXY: "mine" } });
      const target = { root: `http://127.0.0.1:${new URL(server().url).port}`, model: "tiny", key: "secret" };
      const connection = clientNamed(id)?.connect({ ...target, context: 4096, images: false });
      const { file } = connection ?? {};
      const folder = join(cwd, file?.folder.base === "config" ? ".config" : "", file?.folder.path ?? "");
      const path = join(folder, file?.names[0] ?? "none");
      const before = id === "vscode" ? '[ { "name": "mine" } // local\n]\n' : USER[file?.format ?? "json"];
      if (file !== undefined) {
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, before);
      }
      const started = await run("-m", "tiny", ...address(), "--", "-p", "a b");
      expect([started.exit, started.out.split("\n")]).toEqual([
        7,
        expect.arrayContaining([
          ...(connection?.args ?? []).map((word) => word.replace("~", cwd)),
          "-p",
          "a b",
          ...Object.entries(connection?.variables ?? {}).map(([name, value]) => `${name}=${value}`),
          "NO_PROXY=mine",
        ]),
      ]);
      expect(started.err).toContain("needs a context of about");
      if (file === undefined) return;
      const written = readFileSync(path, "utf8");
      expect(written).toContain(target.root);
      expect(written).toContain(id === "vscode" ? "// local" : "mine");
      const again = await run("-m", "tiny", "--no-start", ...address());
      expect([again.exit, readFileSync(path, "utf8")]).toEqual([0, written]);
      expect((await run("--remove")).out).toContain(`svc is no longer in ${path}`);
      expect(readFileSync(path, "utf8")).toBe(before);
      expect(existsSync(join(cwd, ".config/svc/launched.json"))).toBe(false);
    },
  );

  test("prints, lists, and says what is wrong", async () => {
    const cwd = newFolder();
    const launch = (...words: readonly string[]) =>
      runBinary(["launch", ...words], { cwd, env: { PATH: "/usr/bin:/bin" } });
    const printed = await launch("opencode", "--print", ...address());
    expect(printed.out).toMatch(/^# ~\/\.config\/opencode\/opencode\.json\n\{[^]*svc\/default\n$/);
    expect(existsSync(join(cwd, ".config/opencode"))).toBe(false);
    expect((await launch()).out).toMatch(/^NAME +PROGRAM[^]*\nvscode /);
    const missing = await launch("claude", ...address());
    expect([missing.exit, missing.err]).toEqual([1, expect.stringContaining("claude is not on PATH")]);
    expect((await launch("pi", "-m", "large", ...address())).err).toContain("No model large is served");
    expect((await launch("pi", "--url", "here")).err).toContain("--url here is no address");
    expect((await launch("codex", "--print", ...address())).err).toContain("start it with --compat clients");
    expect((await launch("aider", "--remove")).out).toContain("Nothing to remove");
    expect((await launch("word")).exit).toBe(2);
    mkdirSync(join(cwd, ".codex"));
    writeFileSync(join(cwd, ".codex/config.toml"), "a = [");
    const broken = await launch("codex", ...address());
    expect([broken.exit, broken.err]).toEqual([1, expect.stringContaining("config.toml is not TOML")]);
    expect(readFileSync(join(cwd, ".codex/config.toml"), "utf8")).toBe("a = [");
  });
});
