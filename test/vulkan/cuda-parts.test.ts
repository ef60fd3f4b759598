// `svc backend install cuda` from beginning to end, without a card: the parts are Mesa's back end with the marks of CUDA's, the driver and
// CUDA's libraries stand-ins.

import { beforeAll, describe, expect, test } from "bun:test";
import { hash } from "node:crypto";
import { once } from "node:events";
import { appendFileSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { BACKENDS, RELEASE } from "../../src/backends/catalog.ts";
import { markOf } from "../../src/backends/own-build.ts";
import { newFolder, runBinary } from "../helpers/binary.ts";
import { fakeCuda, fakeNvml } from "../helpers/fake-nvidia.ts";
import { releaseKeys, signSums } from "../helpers/fake-release.ts";
import { installVulkan, IS_WANTED, OPTIONS } from "./device.ts";

describe.skipIf(!IS_WANTED)("parts of CUDA", () => {
  const [libraries, parts, cache] = [newFolder(), newFolder(), newFolder()];
  const KEYS = releaseKeys();
  const keyFile = join(libraries, "release.pem");

  beforeAll(async () => {
    await installVulkan();
    const vulkan = join(OPTIONS.cache, "svc", "backends", `vulkan-${RELEASE}`, "libggml-vulkan.so");
    for (const code of ["sm86", "sm90"]) {
      const part = join(parts, `libggml-cuda-${code}.so`);
      copyFileSync(vulkan, part);
      appendFileSync(part, `${markOf({ name: "cuda" })}svc back end code ${code}\0`);
    }
    fakeNvml(libraries);
    fakeCuda(libraries, BACKENDS.find(({ name }) => name === "cuda")?.needs ?? []);
    writeFileSync(keyFile, KEYS.pem);
    sign(["sm86", "sm90"]);
  }, 180_000);

  /** Signs the parts as a release. */
  function sign(codes: readonly string[]): void {
    const names = codes.map((code) => `libggml-cuda-${code}.so`);
    const sums = names.map((name) => `${hash("sha256", readFileSync(join(parts, name)))}  ${name}\n`);
    signSums(parts, sums.join(""), KEYS.key);
  }

  async function backend(words: readonly string[], capability = "90") {
    const env = {
      ...OPTIONS.env,
      LD_LIBRARY_PATH: libraries,
      SVC_TEST_CAPABILITY: capability,
      SVC_RELEASE_KEY: keyFile,
    };
    return runBinary(["backend", ...words], { ...OPTIONS, cache, env });
  }
  const installedPart = (): string =>
    /svc back end code (\w+)/.exec(
      readFileSync(join(cache, "svc", "backends", `cuda-${RELEASE}`, "libggml-cuda.so"))
        .subarray(-64)
        .toString("latin1"),
    )?.[1] ?? "";

  test("the part for the card is taken from a folder, tried, listed, tested and removed", async () => {
    const { exit, out, err } = await backend(["install", "cuda", "--from", parts]);
    expect([exit, err]).toEqual([0, expect.stringContaining("Trying cuda")]);
    expect(out).toContain("cuda is installed");
    expect(installedPart()).toBe("sm90");
    expect((await backend(["list"])).out).toMatch(/cuda.*own build/);
    expect((await backend(["test", "cuda"])).exit).toBe(0);
    expect((await backend(["remove", "cuda"])).out).toContain("cuda is removed");
  }, 180_000);

  test("from a signed release, in a folder and over HTTP, which leaves no download behind", async () => {
    using server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: ({ url }) => new Response(Bun.file(join(parts, new URL(url).pathname))),
    });
    for (const [address, capability] of [
      [parts, "90"],
      [`http://127.0.0.1:${server.port}`, "86"],
    ] as const) {
      const { exit, out, err } = await backend(["install", "cuda", "--release", address], capability);
      expect([exit, err, out.includes("cuda is installed")]).toEqual([
        0,
        expect.stringContaining("Asking"),
        true,
      ]);
      expect(installedPart()).toBe(`sm${capability}`);
    }
    expect(await Bun.file(join(cache, "svc", "backends", "libggml-cuda-sm86.so")).exists()).toBe(false);
  }, 180_000);

  test("a download that breaks off is told, and goes on where it ended", async () => {
    const whole = readFileSync(join(parts, "libggml-cuda-sm90.so"));
    const half = Math.floor(whole.length / 2);
    const ranges: (string | undefined)[] = [];
    let breaks = true;
    const server = createServer(({ url = "", method, headers: { range } }, response) => {
      const content = readFileSync(join(parts, url));
      response.setHeader("content-length", content.length);
      if (method === "HEAD" || !url.endsWith("sm90.so")) return void response.end(content);
      ranges.push(range);
      const from = Number(/^bytes=(\d+)-/.exec(range ?? "")?.[1] ?? 0);
      if (breaks && from > 0) return void response.writeHead(503).end();
      if (breaks) return void response.write(content.subarray(0, half), () => response.destroy());
      const headers = { "content-range": `bytes ${from}-${whole.length - 1}/${whole.length}` };
      response.setHeader("content-length", whole.length - from);
      response.writeHead(from === 0 ? 200 : 206, from === 0 ? {} : headers).end(content.subarray(from));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo; // of TCP
    const install = () => backend(["install", "cuda", "--release", `http://127.0.0.1:${port}`]);
    const broken = await install();
    expect([broken.exit, broken.err.split("\n").length > 1]).toEqual([1, true]);
    breaks = false;
    const resumed = await install();
    expect([resumed.exit, installedPart()]).toEqual([0, "sm90"]);
    expect(ranges.at(-1)).toMatch(/^bytes=[1-9]\d*-/);
    server.close();
  }, 180_000);

  test("what is not as it was signed is refused before it is loaded", async () => {
    const before = installedPart();
    const [altered, foreign] = [newFolder(), newFolder()];
    for (const folder of [altered, foreign])
      for (const name of ["libggml-cuda-sm90.so", "SHA256SUMS", "SHA256SUMS.sig"])
        copyFileSync(join(parts, name), join(folder, name));
    appendFileSync(join(altered, "libggml-cuda-sm90.so"), "one more byte");
    signSums(foreign, readFileSync(join(foreign, "SHA256SUMS"), "utf8"), releaseKeys().key);
    using server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: ({ url }) => new Response(Bun.file(join(altered, new URL(url).pathname))),
    });
    for (const [address, reason] of [
      [altered, /does not have the SHA-256 sum of the signed list/],
      [`http://127.0.0.1:${server.port}`, /does not match its checksum and was deleted/],
      [foreign, /signature/],
    ] as const) {
      const { exit, err } = await backend(["install", "cuda", "--release", address]);
      expect([exit, err]).toEqual([1, expect.stringMatching(reason)]);
      expect(err).not.toContain("Trying cuda");
    }
    expect(installedPart()).toBe(before);
  }, 180_000);

  test("what does not fit is refused, and what was installed stays", async () => {
    const before = installedPart();
    const refused = async (words: readonly string[], capability?: string): Promise<string> => {
      const { exit, err } = await backend(["install", "cuda", ...words], capability);
      expect(exit).toBe(1);
      return err;
    };
    const wrong = join(parts, "libggml-cuda-sm86.so");
    expect(await refused(["--from", wrong])).toContain("use libggml-cuda-sm90.so");
    expect(await refused(["--from", parts], "110")).toContain("has no libggml-cuda-ptx.so");
    expect(await refused(["--release", parts], "61")).toContain("older than CUDA 13 supports");
    expect(await refused(["--release", parts], "80")).toContain("has no library for these cards");
    const broken = newFolder();
    mkdirSync(broken, { recursive: true });
    writeFileSync(
      join(broken, "libggml-cuda-sm90.so"),
      `${markOf({ name: "cuda" })}svc back end code sm90\0`,
    );
    expect(await refused(["--from", broken])).toContain("could not be loaded");
    rmSync(join(parts, "SHA256SUMS.sig"));
    expect(await refused(["--release", parts])).toContain("holds no SHA256SUMS.sig");
    expect(installedPart()).toBe(before);
  }, 180_000);
});
