// Back ends: the catalog belongs to the embedded llama.cpp, and only its content is installed.

import { expect, test } from "bun:test";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BACKENDS, RELEASE } from "../../src/backends/catalog.ts";
import { fetchPackage } from "../../src/backends/fetch.ts";
import { backendTable, trialText } from "../../src/backends/report.ts";
import { installedBackends, stage, uninstall } from "../../src/backends/store.ts";
import { loadBackends } from "../../ffi/backends.ts";
import { upstream } from "../../ffi/names.ts";
import sources from "../../prebuilt/source/package.json";
import { failure } from "../helpers/failure.ts";
import { tempDir } from "../helpers/tmp.ts";

const [VULKAN] = BACKENDS;
if (VULKAN === undefined) throw new Error("the catalog is empty");

test("back ends come from the release that the libraries are built from", () => {
  expect(RELEASE).toBe(sources.dependencies["node-llama-cpp"]);
});

test("a library of another release is refused and leaves nothing behind", async () => {
  const cache = tempDir();
  const file = join(cache, "other.so");
  writeFileSync(file, "another release");
  expect(await failure(stage(cache, VULKAN, file))).toMatch(/is not libggml-vulkan\.so of .* \(SHA-256 /);
  expect(readdirSync(join(cache, "backends"))).toEqual([]);
  expect(installedBackends(cache)).toEqual([]);
  expect(await failure(stage(cache, VULKAN, join(cache, "missing.so")))).toContain("cannot be copied");
  expect(readdirSync(join(cache, "backends"))).toEqual([]);
  expect(uninstall(cache, VULKAN)).toBe(false);
});

test("a registry that cannot be reached is named with the way out", async () => {
  const offline = { PATH: process.env["PATH"], HOME: tempDir(), NPM_CONFIG_REGISTRY: "http://127.0.0.1:9/" };
  expect(await failure(fetchPackage(VULKAN, offline))).toMatch(/could not be downloaded: .*--from/s);
});

test("a back end whose driver is missing is named, and the next one is tried", () => {
  const needs = [{ paths: ["libno-such-driver.so.1"], symbol: "no_such_call", from: "the vendor's driver" }];
  const library = (name: string) => ({ name, path: `/nowhere/lib${name}.so`, needs });
  expect(loadBackends(tempDir(), [library("one"), library("two")])).toEqual([
    "back end one: libno-such-driver.so.1 could not be loaded. It comes with the vendor's driver",
    "back end two: libno-such-driver.so.1 could not be loaded. It comes with the vendor's driver",
  ]);
});

const COMPILER = Bun.which("cc");

test.skipIf(COMPILER === null)("a driver that lacks a function of the back end is named with it", () => {
  const dir = tempDir();
  const compile = (name: string, code: string): string => {
    writeFileSync(join(dir, `${name}.c`), code);
    const words = ["-shared", "-fPIC", "-o", join(dir, name), join(dir, `${name}.c`)];
    expect(Bun.spawnSync([COMPILER ?? "", ...words]).exitCode).toBe(0);
    return join(dir, name);
  };
  const driver = compile("libdriver.so.1", "int old_call(void) { return 0; }");
  compile(upstream("ggml-base"), "int base(void) { return 0; }");
  compile(upstream("ggml"), "void * ggml_backend_load(const char * path) { return 0; }");
  const path = compile(
    "libggml-new.so",
    "int new_call(void); int ggml_backend_init(void) { return new_call(); }",
  );
  const needs = [{ paths: [driver], symbol: "old_call", from: "the vendor's driver" }];
  expect(loadBackends(dir, [{ name: "new", path, needs }])).toEqual([
    "back end new: libggml-new.so could not be loaded: no library has new_call. Update what it needs: the vendor's driver",
  ]);
});

test("the table and the report of a trial", () => {
  expect(backendTable([{ name: "vulkan", package: "p@1", isInstalled: true }])).toBe(
    "vulkan  installed      p@1",
  );
  const devices = [{ name: "Vulkan0", description: "A card", memory_total: 8 * 2 ** 30 }];
  const ms = { device: 1200, cpu: 300 };
  const same = { devices, answers: { device: "42", cpu: "42" }, ms };
  expect(trialText(same)).toContain("Vulkan0: A card, 8.0 GiB\nThe answers are equal: 1.2 s");
  expect(trialText({ ...same, answers: { device: "41", cpu: "42" } })).toContain('differ ("41", CPU "42")');
});
