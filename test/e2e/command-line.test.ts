// What the executable says and returns when there is nothing to serve, or nothing that can be served.

import { describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BACKENDS, RELEASE } from "../../src/backends/catalog.ts";
import { loadedDrivers } from "../../src/core/card-drivers.ts";
import { VERSION } from "../../src/core/version.ts";
import {
  HAS_TERMINAL,
  newFolder,
  openTerminal,
  type RunOptions,
  runBinary,
  runShell,
  type Terminal,
  TINY_FILE,
} from "../helpers/binary.ts";
import { serveRegistry } from "../helpers/fake-registry.ts";

describe("words", () => {
  test("--version and --help print on stdout and return 0", async () => {
    expect(await runBinary(["--version"])).toEqual({ exit: 0, out: `svc ${VERSION}\n`, err: "" });
    const help = await runBinary(["--help"]);
    expect([help.exit, help.err]).toEqual([0, ""]);
    for (const word of ["serve", "run", "from-config", "config", "--version"])
      expect(help.out).toContain(word);
    const serve = await runBinary(["serve", "--help"]);
    expect(serve.out).toContain("--max-seqs");
    expect(serve.out).not.toContain("engine"); // the command of the engine processes is nobody else's business
  });

  test.each(["--version", "serve --help", "config show", "keys list", "doctor"])(
    "a full disk below the output of %s is an error, 1",
    async (words) => {
      const { exit, err } = await runShell(`"$0" ${words} > /dev/full`);
      expect([exit, err]).toEqual([1, "svc: the output could not be written (ENOSPC)\n"]);
    },
  );

  test.each([[["bogus"]], [["serve", "--bogus"]], [[]]])("%j is explained on stderr, 2", async (words) => {
    const { exit, out, err } = await runBinary(words);
    expect([exit, out]).toEqual([2, ""]);
    expect(err).toMatch(/Usage|unknown/);
  });
});

describe("configuration", () => {
  test("all problems are listed, each with its place, 2", async () => {
    const cwd = newFolder();
    const lines = [
      "[server]",
      "port = 99999",
      'hots = "x"',
      "[runtime]",
      "max_seqs = 0",
      "[[models]]",
      'model_id = "absent.gguf"',
    ];
    writeFileSync(join(cwd, "bad.toml"), lines.join("\n"));
    const { exit, out, err } = await runBinary(["serve", "bad.toml", "--ubatch", "many"], { cwd });
    expect([exit, out]).toEqual([2, ""]);
    expect(err).toContain("5 problems");
    for (const words of [
      "bad.toml: server.port: 99999",
      "server.hots: unknown key. Did you mean host?",
      "runtime.max_seqs: 0",
      "models[0].model_id: absent.gguf",
      '--ubatch: "many"',
    ]) {
      expect(err).toContain(words);
    }
  });

  test("a file that is no TOML, and one that is not there, 2", async () => {
    const cwd = newFolder();
    writeFileSync(join(cwd, "cut.toml"), "[server\n");
    expect(await runBinary(["serve", "cut.toml"], { cwd })).toMatchObject({ exit: 2 });
    expect(await runBinary(["serve", "absent.toml"], { cwd })).toMatchObject({ exit: 2 });
  });
});

test.each(["soon", "0", "-5", "1e99", "1.5"])("KEEP_ALIVE_INTERVAL=%s: one clear line, 2", async (value) => {
  const { exit, err } = await runBinary(["serve", "--port", "0"], { env: { KEEP_ALIVE_INTERVAL: value } });
  expect(exit).toBe(2);
  expect(err).toStartWith("svc: KEEP_ALIVE_INTERVAL must be a whole number of milliseconds");
});

describe("a model file that is none", () => {
  test("is told from its first bytes, before anything starts, 2", async () => {
    const cwd = newFolder();
    writeFileSync(join(cwd, "noise.gguf"), "this is no model");
    const { exit, err } = await runBinary(["serve", "-m", "noise.gguf"], { cwd });
    expect(exit).toBe(2);
    expect(err).toContain("--model: noise.gguf: this is not a GGUF file.");
  });

  test.each(["serve", "run"])("svc %s: a damaged one gives one line with the reason, 1", async (command) => {
    const cwd = newFolder();
    const whole = readFileSync(TINY_FILE);
    writeFileSync(join(cwd, "cut.gguf"), whole.subarray(0, whole.length >> 1));
    const port = command === "serve" ? ["--port", "0"] : [];
    const { exit, err } = await runBinary([command, ...port, "-m", "cut.gguf"], { cwd, stdin: "Hi" });
    expect(exit).toBe(1);
    const complaints = err.split("\n").filter((line) => line.startsWith("svc: "));
    expect(complaints).toHaveLength(1);
    // llama.cpp's own finding, not only that it found something.
    expect(complaints[0]).toMatch(/corrupted or incomplete|file bounds/);
  });
});

test("what other programs' users type gets a hint", async () => {
  const host = await runBinary(["serve", "--host", "192.0.2.1", "--port", "0"]);
  expect([host.exit, host.err]).toEqual([
    1,
    expect.stringContaining("192.0.2.1 is not an address of this machine"),
  ]);
  expect(host.err).toContain("or one of: 127.0.0.1");
  const size = await runBinary(["serve", "-c", "8192"]);
  expect([size.exit, size.err]).toEqual([2, expect.stringContaining("is --max-seq-len 8192.")]);
});

test("a port in use: one clear line, 1, and no model is loaded for it", async () => {
  const taken = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("mine") });
  const { port } = taken;
  try {
    const cache = newFolder();
    const { exit, err } = await runBinary(["serve", "--host", "127.0.0.1", "--port", String(port)], {
      cache,
    });
    expect(exit).toBe(1);
    expect(readdirSync(cache)).toEqual([]); // an engine would have unpacked its libraries
    expect(err).toBe(
      `svc: cannot listen on 127.0.0.1:${port}: it is in use by another program. Choose another with --port.\n`,
    );
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe("mine");
  } finally {
    await taken.stop(true);
  }
});

/** As on a machine that has loaded Intel's driver. */
const WITH_DRIVER = "bwrap --dev-bind / / --tmpfs /sys/module --dir /sys/module/xe";
const canFakeDrivers = Bun.spawnSync(["sh", "-c", `${WITH_DRIVER} true`]).success;
if (!canFakeDrivers) console.warn("SKIPPED: the driver of a card, which needs bubblewrap and its namespaces");

describe.skipIf(!canFakeDrivers)("a machine with the driver of a card and without its back end", () => {
  const [VULKAN] = BACKENDS;
  if (VULKAN === undefined) throw new Error("the catalog is empty");
  const OFFER = "Intel's driver is here: install back end vulkan from @node-llama-cpp/linux-x64-vulkan?";
  const REFUSAL = /libggml-vulkan\.so is not .* \(SHA-256 [^)]*\).*\. Use the file of exactly that release/s;

  test("svc doctor --fix offers it, and says how to install it without a terminal", async () => {
    const { out, err } = await runShell(`${WITH_DRIVER} "$0" doctor --fix`);
    expect(err).toContain(`${OFFER} Without a terminal, svc doctor --fix --yes installs it.`);
    expect(out).toMatch(/accelerator/);
    const bare = await runBinary(["doctor", "--fix"]);
    if (loadedDrivers().length === 0)
      expect(bare.err).toContain("There is nothing to install for a graphics card.");
  });

  test("what is downloaded is refused where it is another release, and the report follows", async () => {
    const { name: kind, package: name, path } = VULKAN;
    const registry = serveRegistry({ name, version: RELEASE, files: { [path]: "another release" } });
    try {
      const env = { NPM_CONFIG_REGISTRY: registry.url };
      const { exit, out, err } = await runShell(`${WITH_DRIVER} "$0" doctor --fix --yes`, { env });
      expect([exit, err]).toEqual([1, expect.stringMatching(REFUSAL)]);
      expect(out).toMatch(/accelerator/);
      if (!HAS_TERMINAL) return;
      const cwd = newFolder();
      const ask = (): Terminal =>
        openTerminal("doctor --fix", cwd, `NPM_CONFIG_REGISTRY=${registry.url} ${WITH_DRIVER}`);
      const refused = ask();
      await refused.shows(/\[y\/N\]/);
      refused.type("\r");
      expect(await refused.shows(/accelerator/)).not.toMatch(REFUSAL);
      const wanted = ask();
      await wanted.shows(/\[y\/N\]/);
      wanted.type("y\r");
      await wanted.shows(REFUSAL);
      expect((await runBinary(["backend", "list"])).out).toMatch(
        new RegExp(`^${kind}\\s+not installed`, "m"),
      );
    } finally {
      await registry.stop();
    }
  });
});

test("svc backend install refuses a file or folder that will not do before it downloads anything", async () => {
  const cache = newFolder();
  const install = (words: readonly string[], options: RunOptions = {}) =>
    runBinary(["backend", "install", ...words], options);
  const missing = await install(["cuda", "--from", "/nowhere/libggml-cuda.so"]);
  expect([missing.exit, missing.err]).toEqual([1, expect.stringContaining("cannot be read: ENOENT")]);
  const junk = join(cache, "junk.so");
  writeFileSync(junk, "junk");
  const wrong = await install(["cuda", "--from", junk]);
  expect([wrong.exit, wrong.err]).toEqual([1, expect.stringMatching(/^svc: .* is not libggml-cuda\.so of /)]);
  mkdirSync(join(cache, "svc"));
  writeFileSync(join(cache, "svc/backends"), "");
  const unkept = await install(["vulkan"], { cache });
  expect([unkept.exit, unkept.err]).toEqual([
    1,
    expect.stringMatching(/^svc: back ends cannot be kept in .*: EEXIST.* Set XDG_CACHE_HOME to a folder/),
  ]);
});
