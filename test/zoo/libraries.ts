// llama.cpp's unpatched CPU libraries of the release that ours are built from, from the npm package that node-llama-cpp has
// for this platform. Downloaded once; the lock file of prebuilt/source says which bytes they must be.

import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { unpackLibraries } from "../../ffi/embedded.ts";

const ROOT = join(import.meta.dir, "../..");
const PACKAGE = "@node-llama-cpp/linux-x64";
const COMMAND_MS_MAX = 180_000;

/** The folder with the libraries, or why there is none. */
export type ReferenceLibraries =
  | { readonly type: "found"; readonly dir: string; readonly release: string }
  | { readonly type: "missing"; readonly reason: string };

interface Locked {
  readonly version: string;
  readonly integrity: string;
}

function locked(): Locked {
  const lock: { packages: Record<string, Locked | undefined> } = JSON.parse(
    readFileSync(join(ROOT, "prebuilt/source/package-lock.json"), "utf8"),
  );
  const entry = lock.packages[`node_modules/${PACKAGE}`];
  if (entry === undefined) throw new Error(`prebuilt/source/package-lock.json has no ${PACKAGE}`);
  return entry;
}

async function run(cwd: string, ...command: readonly string[]): Promise<string> {
  const child = Bun.spawn([...command], { cwd, stdout: "pipe", stderr: "pipe", timeout: COMMAND_MS_MAX });
  const [output, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (child.exitCode === 0) return output.trim();
  throw new Error(`${command.slice(0, 2).join(" ")} failed: ${errors.trim().slice(-300)}`);
}

/** Ours, without back ends for devices. */
export function ownLibraries(cacheDir: string): ReferenceLibraries {
  return { type: "found", dir: unpackLibraries(cacheDir), release: "svc's own" };
}

/** Finds the libraries, and downloads them the first time. */
export async function ensureReference(): Promise<ReferenceLibraries> {
  if (process.platform !== "linux" || process.arch !== "x64")
    return { type: "missing", reason: `${PACKAGE} is for another platform than this one` };
  try {
    const { version, integrity } = locked();
    const folder = join(ROOT, `node_modules/.cache/svc-llama-${version}`);
    if (!existsSync(folder)) await download(folder, `${PACKAGE}@${version}`, integrity);
    const dir = join(folder, "package/bins/linux-x64");
    return { type: "found", dir, release: `llama.cpp of node-llama-cpp ${version}` };
  } catch (error) {
    return { type: "missing", reason: error instanceof Error ? error.message : String(error) };
  }
}

async function download(folder: string, name: string, integrity: string): Promise<void> {
  const aside = `${folder}.part`;
  rmSync(aside, { recursive: true, force: true });
  mkdirSync(aside, { recursive: true });
  const archive = join(aside, await run(aside, "npm", "pack", "--silent", name));
  const hash = new Bun.CryptoHasher("sha512").update(readFileSync(archive)).digest("base64");
  if (`sha512-${hash}` !== integrity) throw new Error(`${name} is not what the lock file says`);
  await run(aside, "tar", "xzf", archive);
  rmSync(archive);
  renameSync(aside, folder);
}
