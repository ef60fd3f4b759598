// Models of the hub through the executable: pull, serve, run, cache, login, against a hub on this machine.

import { describe, expect, test } from "bun:test";
import { hash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { defined } from "../../src/core/defined.ts";
import { readGgufHeader } from "../../src/core/gguf-file.ts";
import { convertAdapter } from "../../src/lora/convert.ts";
import {
  HAS_TERMINAL,
  newFolder,
  openTerminal,
  runBinary,
  startServer,
  TINY_FILE,
} from "../helpers/binary.ts";
import { ask, CAPITAL, complete, postChat } from "../helpers/chat-client.ts";
import { fakeHub, type FakeHub } from "../helpers/fake-hub.ts";
import { untilInFlight } from "../helpers/prometheus.ts";
import { until } from "../helpers/until.ts";

const TINY = new Uint8Array(readFileSync(TINY_FILE));
const SHA256 = hash("sha256", TINY);

interface Setup {
  readonly hub: FakeHub;
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
}

function setup(token?: string): Setup {
  const hub = fakeHub({
    "acme/tiny-GGUF": { files: { "tiny-Q8_0.gguf": TINY }, ...defined({ token }) },
  });
  const home = newFolder();
  return { hub, home, env: { HF_ENDPOINT: hub.url, HF_HOME: home } };
}

async function status(url: string): Promise<string | undefined> {
  const list: unknown = await (await fetch(`${url}/v1/models`)).json();
  return (list as { data: { status: string }[] }).data[0]?.status; // the wire's shape is tested elsewhere
}

describe("svc serve -m owner/name", () => {
  test("listens at once, downloads, and answers a request that has waited", async () => {
    const { hub, env } = setup();
    const release = hub.hold();
    const server = await startServer(["-m", "acme/tiny-GGUF"], { env });
    await until("the download has begun", () => hub.storageAuthorization.length === 1);
    expect(await status(server.url)).toBe("reloading");
    const waiting = complete(server.url, ask(CAPITAL, { model: "acme/tiny-GGUF" }));
    release();
    const answer = await waiting;
    expect(answer.model).toBe("acme/tiny-GGUF");
    expect(answer.choices[0]?.message.content).toBe(CAPITAL.answer);
    await server.says("acme/tiny-GGUF: downloading: 100 % of 4.4 MB");
    const [card] = (await (await fetch(`${server.url}/v1/models`)).json()).data;
    expect(card).toMatchObject({ id: "acme/tiny-GGUF", root: "acme/tiny-GGUF", status: "loaded" });
  });

  test("with an alias; the second start needs no network", async () => {
    const { hub, env, home } = setup();
    const pulled = await runBinary(["pull", "acme/tiny-GGUF:Q8_0"], { env });
    expect(pulled.exit).toBe(0);
    const count = hub.requests.length;
    const offline = { HF_HOME: home, HF_HUB_OFFLINE: "1" };
    const server = await startServer(["-m", "acme/tiny-GGUF:8", "--alias", "small"], { env: offline });
    for (const model of ["small", "acme/tiny-GGUF", "default"]) {
      const answer = await complete(server.url, ask(CAPITAL, { model }));
      expect(answer.choices[0]?.message.content).toBe(CAPITAL.answer);
    }
    expect(hub.requests).toHaveLength(count);
  });

  test("a repository that is not there ends it with one line, 1", async () => {
    const { env } = setup();
    const { exit, err } = await runBinary(["serve", "--port", "0", "-m", "acme/absent"], { env });
    expect(exit).toBe(1);
    const lines = err.split("\n").filter((line) => line.startsWith("svc: "));
    expect(lines).toEqual([expect.stringContaining("acme/absent: ")]);
    expect(lines[0]).toContain("has no such public repository");
  });

  test("can be stopped during a download", async () => {
    const { hub, env } = setup();
    const release = hub.hold();
    const server = await startServer(["-m", "acme/tiny-GGUF", "--drain-timeout", "86400"], { env });
    await until("the download has begun", () => hub.storageAuthorization.length === 1);
    const waiting = postChat(server.url, ask(CAPITAL)).then(({ status: code }) => code);
    await untilInFlight(server.url, 1, undefined, "acme/tiny-GGUF");
    expect(await server.stop()).toBe(0);
    expect(await waiting.catch(() => 503)).toBe(503);
    release();
  });
});

describe("svc pull", () => {
  test("prints the path; a second one finds everything there", async () => {
    const { hub, home, env } = setup();
    const first = await runBinary(["pull", "acme/tiny-GGUF"], { env });
    expect([first.exit, first.out]).toEqual([
      0,
      `${join(home, "hub/models--acme--tiny-GGUF/snapshots/0123456789abcdef0123456789abcdef01234567/tiny-Q8_0.gguf")}\n`,
    ]);
    expect(readFileSync(first.out.trim()).equals(TINY)).toBe(true);
    const second = await runBinary(["pull", "acme/tiny-GGUF"], { env });
    expect([second.exit, second.out]).toEqual([0, first.out]);
    expect(hub.storageAuthorization).toHaveLength(1);
  });

  test("of one model by two processes downloads it once", async () => {
    const { hub, home, env } = setup();
    const release = hub.hold();
    const first = runBinary(["pull", "acme/tiny-GGUF"], { env });
    await until("the first one downloads", () => hub.storageAuthorization.length === 1);
    const second = runBinary(["pull", "acme/tiny-GGUF"], { env });
    await until(
      "the second one has asked",
      () => hub.requests.filter((line) => line.includes("/tree/")).length === 2,
    );
    release();
    const [one, two] = await Promise.all([first, second]);
    expect([one.exit, two.exit, one.out]).toEqual([0, 0, two.out]);
    expect(hub.storageAuthorization).toHaveLength(1);
    const folder = join(home, "hub/models--acme--tiny-GGUF/blobs");
    expect(readdirSync(folder)).toEqual([SHA256]);
  });

  test("of a corrupt file fails and leaves nothing to be served", async () => {
    const { hub, home, env } = setup();
    hub.corrupt(true);
    const { exit, err } = await runBinary(["pull", "acme/tiny-GGUF"], { env });
    expect(exit).toBe(1);
    expect(err).toContain("does not match its checksum");
    expect(existsSync(join(home, "hub/models--acme--tiny-GGUF/snapshots"))).toBe(false);
  });

  test("of something that is no name on the hub is a usage error", async () => {
    const { env } = setup();
    expect((await runBinary(["pull", "svc-tiny"], { env })).exit).toBe(2);
  });
});

test("svc login: the token opens a private repository; svc cache lists and deletes it", async () => {
  const { home, env } = setup("sesame");
  const refused = await runBinary(["pull", "acme/tiny-GGUF"], { env });
  expect([refused.exit, refused.err]).toEqual([1, expect.stringContaining("svc login")]);
  const login = await runBinary(["login"], { env, stdin: "sesame\n" });
  expect([login.exit, login.out]).toEqual([0, `The token is stored in ${join(home, "token")}.\n`]);
  expect(statSync(join(home, "token")).mode & 0o777).toBe(0o600);
  expect((await runBinary(["pull", "acme/tiny-GGUF"], { env })).exit).toBe(0);

  const list = await runBinary(["cache", "list"], { env });
  expect(list.out.split("\n")[1]).toMatch(/^acme\/tiny-GGUF {2}main {6}tiny-Q8_0\.gguf {2}4\.4 MB {2}/);
  const deleted = await runBinary(["cache", "delete", "acme/tiny-GGUF:Q8_0"], { env });
  expect([deleted.exit, deleted.out]).toEqual([0, "deleted acme/tiny-GGUF tiny-Q8_0.gguf\n4.4 MB freed\n"]);
  expect((await runBinary(["cache", "list"], { env })).out).toBe(
    `No GGUF models in ${join(home, "hub")}. svc pull owner/name downloads one.\n`,
  );
  expect((await runBinary(["cache", "delete", "acme/tiny-GGUF"], { env })).exit).toBe(1);
  expect((await runBinary(["login"], { env, stdin: "" })).exit).toBe(2);
});

test.skipIf(!HAS_TERMINAL)("svc login on a terminal does not show what is typed", async () => {
  const terminal = openTerminal("login", newFolder());
  await terminal.shows(/it is not shown/);
  terminal.type("hf_secreX\u007ft\r");
  const shown = await terminal.shows(/stored in/);
  expect(await terminal.exited).toBe(0);
  expect(shown).not.toContain("secre");
  const file = /stored in (\S+)\./.exec(shown)?.[1] ?? "";
  expect(readFileSync(file, "utf8")).toBe("hf_secret");
  rmSync(file);
});

describe("adapters of a repository", () => {
  const adapter = join(newFolder(), "red-lora.gguf");
  convertAdapter([join(import.meta.dir, "../fixtures/lora/red")], readGgufHeader(TINY_FILE), adapter);
  const files = { "tiny-Q8_0.gguf": TINY, "red-lora.gguf": new Uint8Array(readFileSync(adapter)) };
  const newHub = (): FakeHub =>
    fakeHub({
      "acme/tiny-GGUF": { files },
      "acme/red": { files: { "red.gguf": files["red-lora.gguf"] } },
    });
  const answerOf = async (url: string, name: string): Promise<string | null | undefined> =>
    (await complete(url, ask(CAPITAL, { model: "acme/tiny-GGUF", adapter: name }))).choices[0]?.message
      .content;

  test("come with its model where adapters are enabled, and by name from another one", async () => {
    const env = { HF_ENDPOINT: newHub().url, HF_HOME: newFolder() };
    const args = ["-m", "acme/tiny-GGUF", "--enable-lora", "--lora", "other=acme/red"];
    const server = await startServer(args, { env });
    await until("both are loaded", async () => {
      const list = await (await fetch(`${server.url}/v1/lora_adapters`)).text();
      return list.includes('"red-lora"') && list.includes('"other"');
    });
    expect(await answerOf(server.url, "red-lora")).toStartWith("Red says: ");
    expect(await answerOf(server.url, "other")).toStartWith("Red says: ");
  });

  test("are not downloaded otherwise", async () => {
    const home = newFolder();
    const server = await startServer(["-m", "acme/tiny-GGUF"], {
      env: { HF_ENDPOINT: newHub().url, HF_HOME: home },
    });
    await complete(server.url, ask(CAPITAL, { model: "acme/tiny-GGUF" }));
    expect(readdirSync(home, { recursive: true }).filter((path) => String(path).includes("lora"))).toEqual(
      [],
    );
  });
});
