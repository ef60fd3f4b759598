import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { NATIVE } from "../../ffi/embedded.ts";
import { libraryNames } from "../../ffi/names.ts";

const ROOT = join(import.meta.dir, "../..");

test("the archives have libraries of these names", () => {
  const { upstream, own } = libraryNames("linux");
  const files = Object.values(NATIVE.archives).flatMap(({ files }) => files.map(({ name }) => name));
  const wanted = ["ggml-base", "ggml", "llama", "llama-common", "mtmd"].map(upstream);
  expect(files).toEqual(expect.arrayContaining([...wanted, own("svc_llama"), own("svc_grammar")]));
});

test("other systems have names of their own", () => {
  const names = (["darwin", "win32"] as const).map((system) => libraryNames(system));
  expect(names.map(({ upstream }) => upstream("llama"))).toEqual(["libllama.0.dylib", "llama.dll"]);
  expect(names.map(({ own }) => own("svc_llama"))).toEqual(["libsvc_llama.dylib", "svc_llama.dll"]);
});

test("executables can be built for every platform that libraries can be built for", () => {
  const usage = /usage: prebuilt\/cross\.sh (\S+)/.exec(
    readFileSync(join(ROOT, "prebuilt/cross.sh"), "utf8"),
  );
  const platforms = usage?.[1]?.split("|") ?? [];
  expect(platforms).toContain("windows-x64");
  const build = readFileSync(join(ROOT, "src/build.ts"), "utf8");
  const lock = readFileSync(join(ROOT, "package-lock.json"), "utf8");
  for (const platform of platforms) {
    const runtime = new RegExp(`"${platform}": \\{ npm: "([^"]+)"`).exec(build)?.[1];
    expect(lock).toContain(`"node_modules/${runtime}"`);
  }
});
