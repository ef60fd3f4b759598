// Back ends: the catalog belongs to the embedded llama.cpp, and only its content is installed.

import { expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runBackend } from "../../src/app/backends.ts";
import { BACKENDS, RELEASE } from "../../src/backends/catalog.ts";
import { fetchPackage } from "../../src/backends/fetch.ts";
import { backendTable, trialText } from "../../src/backends/report.ts";
import { markOf } from "../../src/backends/own-build.ts";
import { installedBackends, publish, stage, uninstall } from "../../src/backends/store.ts";
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
  expect(await failure(stage(cache, VULKAN, file, "file"))).toMatch(
    /is not libggml-vulkan\.so of .* \(SHA-256 /,
  );
  expect(readdirSync(join(cache, "backends"))).toEqual([]);
  expect(installedBackends(cache)).toEqual([]);
  expect(await failure(stage(cache, VULKAN, join(cache, "missing.so"), "file"))).toContain(
    "cannot be copied",
  );
  expect(readdirSync(join(cache, "backends"))).toEqual([]);
  expect(uninstall(cache, VULKAN)).toBe(false);
});

test("an own build for this release is taken from a file, and not from a package", async () => {
  const cache = tempDir();
  const file = join(cache, "own.so");
  writeFileSync(file, `ELF ${markOf(VULKAN)} code`);
  expect((await stage(cache, VULKAN, file, "file")).path).toEndWith("/libggml-vulkan.so");
  expect(await failure(stage(cache, VULKAN, file, "package"))).toContain("nor an own build");
  for (const other of [{ name: "cuda" }, { ...VULKAN, name: "vulka" }])
    expect(await failure(stage(cache, { ...VULKAN, ...other }, file, "file"))).toContain("nor an own build");
  writeFileSync(file, markOf(VULKAN).replace(RELEASE, `${RELEASE}1`));
  expect(await failure(stage(cache, VULKAN, file, "file"))).toContain("nor an own build");
});

test("the list names an own build", async () => {
  const cacheDir = tempDir();
  const list = async (): Promise<string> => {
    let text = "";
    const print = (more: string): void => void (text += more);
    await runBackend({ action: "list" }, { cacheDir, verbosity: 0, log: print, print });
    return text;
  };
  expect(await list()).toMatch(/^vulkan +not installed +@node-llama-cpp/m);
  const file = join(cacheDir, "own.so");
  writeFileSync(file, markOf(VULKAN));
  publish(cacheDir, VULKAN, await stage(cacheDir, VULKAN, file, "file"));
  expect(await list()).toMatch(/^vulkan +installed +own build for 3/m);
});

test("the build of own libraries writes the mark that svc looks for", () => {
  const script = readFileSync(join(import.meta.dir, "../../prebuilt/backends/build.sh"), "utf8");
  const [, text = ""] = /svc_backend_mark\[\] = "([^"]+)"/.exec(script) ?? [];
  expect(`${text.replace("$name", "vulkan").replace("$release", RELEASE)}\0`).toBe(markOf(VULKAN));
});

test("an own build of CUDA is made with the libraries that svc installs", () => {
  const pinned = readFileSync(join(import.meta.dir, "../../prebuilt/backends/cuda.txt"), "utf8").split("\n");
  for (const { project, version, sha256 } of BACKENDS.flatMap(({ wheels }) => wheels))
    expect(pinned).toContain(`${project}==${version} --hash=sha256:${sha256}`);
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
  expect(backendTable([{ name: "vulkan", source: "p@1", isInstalled: true }])).toBe(
    "vulkan  installed      p@1",
  );
  const devices = [{ name: "Vulkan0", description: "A card", memory_total: 8 * 2 ** 30 }];
  const ms = { device: 1200, cpu: 300 };
  const same = { devices, answers: { device: "42", cpu: "42" }, ms };
  expect(trialText(same)).toContain("Vulkan0: A card, 8.59 GB\nThe answers are equal: 1.2 s");
  expect(trialText({ ...same, answers: { device: "41", cpu: "42" } })).toContain('differ ("41", CPU "42")');
});
