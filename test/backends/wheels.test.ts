// The vendor's run-time libraries of a back end, from a Python package index of this test: found, checked, unpacked, or refused.

import { afterEach, describe, expect, test } from "bun:test";
import { hash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { installRuntime, missingWheels } from "../../src/app/backend-runtime.ts";
import { BACKENDS, type BackendKind, RELEASE, type Wheel } from "../../src/backends/catalog.ts";
import { installedBackends, uninstall } from "../../src/backends/store.ts";
import { wheelFolder } from "../../src/backends/wheels.ts";
import { failure } from "../helpers/failure.ts";
import { tempDir } from "../helpers/tmp.ts";
import { zipOf } from "../helpers/zip.ts";

const LIBRARY = "libsvc-test-runtime.so.1";
const CONTENT = zipOf([
  { name: `vendor/lib/${LIBRARY}`, content: "library ".repeat(2000) },
  { name: "vendor/other.so", content: "not wanted" },
  { name: "vendor-1.0.dist-info/licenses/License.txt", content: "the licence" },
]);

const WHEEL: Wheel = {
  project: "vendor-runtime",
  version: "1.0",
  file: "vendor_runtime-1.0-py3-none-any.whl",
  bytes: CONTENT.length,
  sha256: hash("sha256", CONTENT),
  unpackedBytes: 20_000,
  libraries: [`vendor/lib/${LIBRARY}`],
};

function kind(wheel: Partial<Wheel> = {}, driver = "libc.so.6"): BackendKind {
  const [first] = BACKENDS;
  if (first === undefined) throw new Error("the catalog is empty");
  const from = "Vendor 1 (vendor-runtime-1)";
  const needs = [
    { library: driver, symbol: "exit", from: "the vendor's driver" },
    { library: LIBRARY, symbol: "start", from },
  ];
  return { ...first, name: "test", needs, wheels: [{ ...WHEEL, ...wheel }] };
}

type Answer = (request: Request, url: URL) => Response | undefined;

const servers: { stop(force: boolean): Promise<void> }[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop(true);
});

/** An index whose project page is `page` and whose files are at /files; returns its address. */
function serveIndex(page: (base: string) => Response, files: Answer = () => undefined): string {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      const url = new URL(request.url);
      if (url.pathname === `/simple/${WHEEL.project}/`) return page(url.origin);
      if (!url.pathname.startsWith("/files/")) return new Response("no", { status: 404 });
      return files(request, url) ?? new Response(new Uint8Array(CONTENT));
    },
  });
  servers.push(server);
  return `http://127.0.0.1:${server.port}/simple`;
}

const json = (base: string): Response =>
  Response.json(
    { files: [{ filename: WHEEL.file, url: `${base}/files/${WHEEL.file}` }] },
    { headers: { "content-type": "application/vnd.pypi.simple.v1+json" } },
  );

function install(cacheDir: string, index: string | undefined, what = kind()): Promise<void> {
  return installRuntime(what, index, { cacheDir, log: () => undefined });
}

describe("a wheel", () => {
  test.each<readonly [string, (base: string) => Response]>([
    ["by an index in JSON", json],
    [
      "by an index in HTML, with relative addresses",
      () =>
        new Response(
          `<html><a href="../../files/other.whl">other.whl</a>\n<a data-x="1" href="../../files/${WHEEL.file}#sha256=00">${WHEEL.file}</a></html>`,
          { headers: { "content-type": "text/html" } },
        ),
    ],
  ])("is installed %s: its libraries and the licence, nothing else", async (_, page) => {
    const cache = tempDir();
    await install(cache, serveIndex(page));
    const folder = wheelFolder(cache, WHEEL);
    expect(readdirSync(folder).toSorted()).toEqual(["License.txt", LIBRARY]);
    expect(readFileSync(join(folder, LIBRARY), "utf8")).toBe("library ".repeat(2000));
    expect(readdirSync(join(cache, "backends"))).toEqual(["vendor-runtime-1.0"]);
    expect(missingWheels(kind(), cache, () => false)).toEqual([]);
    await install(cache, undefined); // nothing is left to download
    uninstall(cache, kind());
    expect(existsSync(folder)).toBe(false);
  });

  test("is resumed where an earlier attempt has ended", async () => {
    const half = CONTENT.length >> 1;
    const ranges: (string | null)[] = [];
    const address = serveIndex(json, (request) => {
      ranges.push(request.headers.get("range"));
      const headers = { "content-range": `bytes ${half}-${CONTENT.length - 1}/${CONTENT.length}` };
      return new Response(new Uint8Array(CONTENT.subarray(half)), { status: 206, headers });
    });
    const cache = tempDir();
    mkdirSync(join(cache, "backends"), { mode: 0o700 });
    writeFileSync(join(cache, "backends", `${WHEEL.file}.svc-partial`), CONTENT.subarray(0, half));
    await install(cache, address);
    expect(ranges).toEqual([`bytes=${half}-`]);
    expect(existsSync(join(wheelFolder(cache, WHEEL), LIBRARY))).toBe(true);
  });

  test("with other content than the catalog's is refused and leaves no library behind", async () => {
    const cache = tempDir();
    const other = kind({ sha256: "0".repeat(64) });
    expect(await failure(install(cache, serveIndex(json), other))).toBe(
      "the file from the package index does not match its checksum and was deleted. Try again later.",
    );
    const lacking = kind({ libraries: ["vendor/lib/absent.so", `vendor/lib/${LIBRARY}`] });
    expect(await failure(install(cache, serveIndex(json), lacking))).toContain(
      "it lacks vendor/lib/absent.so",
    );
    expect(existsSync(wheelFolder(cache, WHEEL))).toBe(false);
  });

  test("credentials of the index go to its own origin only", async () => {
    const seen: (string | null)[] = [];
    const note: Answer = (request) => {
      seen.push(request.headers.get("authorization"));
      return undefined;
    };
    const elsewhere = new URL(serveIndex(json, note)).origin;
    const withUser = (address: string): string => address.replace("//", "//me:p%40ss@");
    await install(tempDir(), withUser(serveIndex(json, note)));
    await install(tempDir(), withUser(serveIndex(() => json(elsewhere))));
    expect(seen).toEqual([`Basic ${Buffer.from("me:p@ss").toString("base64")}`, null]);
  });
});

describe("what cannot be installed says what to do", () => {
  test("no index is known", async () => {
    expect(await failure(install(tempDir(), undefined))).toBe(
      `back end test needs ${LIBRARY}, which this machine lacks. Install Vendor 1 (vendor-runtime-1), or name a Python package index with --index URL or PIP_INDEX_URL: svc then takes vendor-runtime 1.0 (0.0 MB) from it.`,
    );
  });

  test("the driver is missing: nothing is downloaded", async () => {
    const what = kind({}, "libsvc-no-driver.so.1");
    expect(await failure(install(tempDir(), "http://127.0.0.1:9/", what))).toBe(
      "back end test: libsvc-no-driver.so.1 is missing. It comes with the vendor's driver.",
    );
  });

  test("the disk is too small", async () => {
    const what = kind({ unpackedBytes: 1e18 });
    expect(await failure(install(tempDir(), "http://127.0.0.1:9/", what))).toMatch(
      /need \d+.* GB of disk, but /,
    );
  });

  test("the index cannot be reached, lacks the file, or is none", async () => {
    const empty = serveIndex(() => Response.json({ files: [] }));
    expect(await failure(install(tempDir(), empty))).toContain(`has no ${WHEEL.file}. Name an index with`);
    const other = `${serveIndex(json)}/elsewhere`;
    expect(await failure(install(tempDir(), other))).toContain("it answered with status 404");
    expect(await failure(install(tempDir(), "http://127.0.0.1:9/"))).toContain("could not be reached");
    expect(await failure(install(tempDir(), "no address"))).toContain("--index is not the URL");
  });
});

test("the libraries of an installed wheel are where engines look for them", async () => {
  const cuda = BACKENDS.find(({ name }) => name === "cuda");
  const [runtime] = cuda?.wheels ?? [];
  if (cuda === undefined || runtime === undefined) throw new Error("the catalog has CUDA with its wheels");
  const names = cuda.wheels.flatMap(({ libraries }) => libraries.map((path) => basename(path)));
  expect(cuda.needs.map(({ library }) => library)).toEqual(["libcuda.so.1", ...names]);
  const cache = tempDir();
  await Bun.write(join(cache, "backends", `cuda-${RELEASE}`, cuda.file), "");
  const library = join(wheelFolder(cache, runtime), "libcudart.so.13");
  await Bun.write(library, "");
  expect(installedBackends(cache)[0]?.needs[1]?.paths.at(-1)).toBe(library);
});
