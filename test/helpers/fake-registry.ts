// A package registry on this machine with one version of one package, for tests of what is downloaded from npm.

import { hash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { tempDir } from "./tmp.ts";

export interface FakePackage {
  readonly name: string;
  readonly version: string;
  /** Content by path. */
  readonly files: Readonly<Record<string, string | Uint8Array>>;
}

export interface FakeRegistry {
  readonly url: string;
  stop(): Promise<void>;
}

export function serveRegistry({ name, version, files }: FakePackage): FakeRegistry {
  const tarball = pack({ ...files, "package.json": JSON.stringify({ name, version }) });
  const integrity = `sha512-${hash("sha512", tarball, "base64")}`;
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ url }) => {
      const { pathname, origin } = new URL(url);
      if (pathname === "/package.tgz") return new Response(new Uint8Array(tarball));
      if (decodeURIComponent(pathname) !== `/${name}`) return new Response("{}", { status: 404 });
      const dist = { tarball: `${origin}/package.tgz`, integrity };
      return Response.json({
        name,
        "dist-tags": { latest: version },
        versions: { [version]: { name, version, dist } },
      });
    },
  });
  return { url: `http://127.0.0.1:${server.port}/`, stop: () => server.stop(true) };
}

function pack(files: FakePackage["files"]): Buffer {
  const folder = tempDir();
  for (const [path, content] of Object.entries(files)) {
    const file = join(folder, "package", path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
  const archive = join(folder, "package.tgz");
  const { success, stderr } = Bun.spawnSync(["tar", "-czf", archive, "-C", folder, "package"]);
  if (!success) throw new Error(`tar failed: ${stderr.toString()}`);
  return readFileSync(archive);
}
