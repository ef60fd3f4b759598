// Builds llama-server, llama-bench and llama-quantize from the same llama.cpp source as svc's libraries, for this machine's
// CPU, in bench/.cache (git-ignored). The folder is named after the release, so builds are reused per release.

import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { exec } from "./exec.ts";

/** Root of the repository. */
export const ROOT = join(import.meta.dir, "..");
/** The executable under test, built by `bun run build`. */
export const SVC = join(ROOT, "svc");
/** Everything that the bench builds or generates. */
export const CACHE = join(import.meta.dir, ".cache");

const TARGETS = ["llama-server", "llama-bench", "llama-quantize"] as const;

// Native kernels and OpenMP: the fastest CPU build, for a fair comparison. Static libraries make each program one file. The
// web interface would be downloaded at build time and is not measured.
const FLAGS = [
  "-DCMAKE_BUILD_TYPE=Release",
  "-DBUILD_SHARED_LIBS=OFF",
  "-DGGML_NATIVE=ON",
  "-DGGML_OPENMP=ON",
  "-DLLAMA_CURL=OFF",
  "-DLLAMA_OPENSSL=OFF",
  "-DLLAMA_BUILD_TESTS=OFF",
  "-DLLAMA_BUILD_EXAMPLES=OFF",
  "-DLLAMA_BUILD_SERVER=ON",
  "-DLLAMA_BUILD_UI=OFF",
  "-DLLAMA_USE_PREBUILT_UI=OFF",
];

/** Paths of the peer's programs and of the source tree they were built from. */
export interface Peer {
  readonly server: string;
  readonly bench: string;
  readonly quantize: string;
  readonly source: string;
  /** Source release, e.g. "llama.cpp of node-llama-cpp 3.22.1". */
  readonly release: string;
  /** Other servers of --peer: a shell command for each name, see commandOf in servers.ts. */
  readonly others: ReadonlyMap<string, string>;
}

/** A peer of which only the server is at hand; "": none. */
export function serverAlone(server: string): Peer {
  return { server, bench: "", quantize: "", source: "", release: "", others: new Map() };
}

/** Builds the peer if missing: about 5 minutes on two cores, once per release. Throws if a step fails. */
export async function ensurePeer(): Promise<Peer> {
  const version = await lockedVersion();
  const folder = join(CACHE, `llama-${version}`);
  const bin = join(folder, "build", "bin");
  const peer: Peer = {
    server: join(bin, "llama-server"),
    bench: join(bin, "llama-bench"),
    quantize: join(bin, "llama-quantize"),
    source: join(folder, "source"),
    release: `llama.cpp of node-llama-cpp ${version}`,
    others: new Map(),
  };
  // A stamp file marks a finished build: an interrupted build leaves programs too.
  const stamp = join(folder, "built");
  if (existsSync(stamp) && TARGETS.every((name) => existsSync(join(bin, name)))) return peer;
  mkdirSync(folder, { recursive: true });
  await ensureSource(peer.source);
  console.error(`bench: building ${TARGETS.join(", ")} (${peer.release}), once`);
  const build = join(folder, "build");
  await exec(["cmake", "-S", peer.source, "-B", build, ...FLAGS], folder);
  const jobs = String(availableParallelism());
  await exec(["cmake", "--build", build, "--parallel", jobs, "--target", ...TARGETS], folder);
  await Bun.write(stamp, FLAGS.join("\n"));
  return peer;
}

async function lockedVersion(): Promise<string> {
  const lock: unknown = await Bun.file(join(ROOT, "prebuilt/source/package-lock.json")).json();
  const match = JSON.stringify(lock).match(/"node_modules\/node-llama-cpp":\{"version":"([^"]+)"/);
  if (match?.[1] === undefined) throw new Error("prebuilt/source/package-lock.json names no node-llama-cpp");
  return match[1];
}

async function ensureSource(target: string): Promise<void> {
  if (existsSync(target)) return;
  const packages = join(ROOT, "prebuilt/source");
  const bundle = join(packages, "node_modules/node-llama-cpp/llama/gitRelease.bundle");
  if (!existsSync(bundle)) {
    // The same command as prebuilt/build.sh; it takes the version from the lock file.
    const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
    await exec(["npm", "install", "--no-save", "--ignore-scripts", "--omit=optional", ...quiet], packages);
  }
  // Cloned to a temporary folder and renamed, so that an interrupted clone is not used.
  const aside = `${target}.part`;
  rmSync(aside, { recursive: true, force: true });
  await exec(["git", "clone", "--quiet", bundle, aside], ROOT);
  // Without it, it does not run on every machine. What makes ours faster is ours.
  await exec(["git", "apply", join(ROOT, "prebuilt/patches/amx-tile-config.patch")], aside);
  renameSync(aside, target);
}

if (import.meta.main) console.log(JSON.stringify(await ensurePeer(), null, 2));
