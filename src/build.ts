// Builds the executable:  bun src/build.ts [--platform linux-arm64] [--with vulkan[=FILE]] [OUTFILE]
// --with puts a back end for graphics cards inside, from its npm package or a file; Linux on x86-64 only.
// The platform is this machine's unless named; prebuilt/ must hold its libraries. The runtime of another one comes from npm. Bun's
// autoloading of .env and bunfig.toml from the working directory is off: it would run code of that directory's owner.

import { hash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, relative } from "node:path";
import { parseArgs } from "node:util";
import { librariesDir, PLATFORM } from "../prebuilt/inputs.ts";
import { BACKENDS, RELEASE } from "./backends/catalog.ts";
import { fetchPackage } from "./backends/fetch.ts";
import { isLibraryOf } from "./backends/own-build.ts";
import { UI_FOLDER, uiBundle } from "./http/ui-bundle.ts";

const ROOT = join(import.meta.dir, "..");
/** WebAssembly module of the runtime for neural voices. */
const ONNX_MODULE = "onnxruntime-web/ort-wasm-simd-threaded.wasm";
/** Empty files in the place of back ends. */
const BUNDLE = join(import.meta.dir, "backends/bundle");

/** A runtime for another platform than this machine's. */
interface Runtime {
  readonly executable: string;
  /** Decides what process.platform and process.arch are compiled to. */
  readonly target: Bun.Build.CompileTarget;
}

/** Bun's npm package and name of each platform that this script can build for elsewhere. */
const RUNTIMES: Readonly<Record<string, { readonly npm: string; readonly target: Bun.Build.CompileTarget }>> =
  {
    "linux-x64": { npm: "@oven/bun-linux-x64", target: "bun-linux-x64" },
    "linux-arm64": { npm: "@oven/bun-linux-aarch64", target: "bun-linux-arm64" },
    "linux-x64-musl": { npm: "@oven/bun-linux-x64-musl", target: "bun-linux-x64-musl" },
    "windows-x64": { npm: "@oven/bun-windows-x64", target: "bun-windows-x64" },
    "macos-arm64": { npm: "@oven/bun-darwin-aarch64", target: "bun-darwin-arm64" },
  };

/** What to build and from which files. */
interface Target {
  readonly outfile: string;
  /** Folder of the native archives. */
  readonly libraries: string;
  /** The runtime that the executable contains; undefined for the one that runs this. */
  readonly runtime: Runtime | undefined;
  /** Packed back ends to embed, by name. */
  readonly backends: ReadonlyMap<string, string>;
}

/** The part of package-lock.json that this reads. */
interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly integrity?: string }>>;
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    options: {
      platform: { type: "string", default: PLATFORM },
      with: { type: "string", multiple: true, default: [] },
    },
    allowPositionals: true,
  });
  const libraries = librariesDir(values.platform);
  if (libraries === undefined) {
    console.error(
      `prebuilt/${values.platform} is missing: make it with prebuilt/build.sh or prebuilt/cross.sh`,
    );
    return 1;
  }
  const folder = mkdtempSync(join(tmpdir(), "svc-build-"));
  try {
    const runtime = values.platform === PLATFORM ? undefined : runtimeOf(values.platform, folder);
    await Bun.build({ ...uiBundle(), outdir: join(folder, UI_FOLDER) });
    if (values.with.length > 0 && values.platform !== "linux-x64")
      throw new Error("back ends for graphics cards are published for linux-x64 only");
    const target = {
      backends: await packBackends(values.with, folder),
      outfile: positionals[0] ?? join(ROOT, "svc"),
      libraries,
      runtime,
    };
    return (await compile(target, join(folder, UI_FOLDER))) ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Checks and compresses the libraries of back ends, each `NAME` or `NAME=FILE`. */
async function packBackends(words: readonly string[], folder: string): Promise<ReadonlyMap<string, string>> {
  const packed = new Map<string, string>();
  for (const word of words) {
    const [name = "", file] = word.split("=");
    const kind = BACKENDS.find((one) => one.name === name);
    const target = join(folder, `${name}.zst`);
    if (kind === undefined || !existsSync(join(BUNDLE, basename(target))))
      throw new Error(`--with ${word}: the back end to embed is vulkan`);
    const fetched = file === undefined ? await fetchPackage(kind, process.env) : { library: file };
    const library = readFileSync(fetched.library);
    if ("folder" in fetched) rmSync(fetched.folder, { recursive: true, force: true });
    if (!isLibraryOf(kind, library, file === undefined ? "package" : "file"))
      throw new Error(
        `--with ${word}: this is not ${kind.file} of ${kind.package} ${RELEASE}, nor an own build for it`,
      );
    writeFileSync(target, Bun.zstdCompressSync(library, { level: 19 }));
    packed.set(basename(target), target);
  }
  return packed;
}

/** Downloads Bun for another platform, as its npm package of the locked version, and checks it against the lock file. */
function runtimeOf(platform: string, folder: string): Runtime {
  const known = RUNTIMES[platform];
  if (known === undefined) throw new Error(`cannot build for ${platform} on ${PLATFORM}`);
  const { npm: name, target } = known;
  const lock: Lock = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8"));
  const { version, integrity } = lock.packages[`node_modules/${name}`] ?? {};
  if (integrity === undefined) throw new Error(`package-lock.json has no ${name}`);
  const [archive = ""] = output(["npm", "pack", "--silent", `${name}@${version}`], folder).split("\n");
  const digest = hash("sha512", readFileSync(join(folder, archive)), "base64");
  if (`sha512-${digest}` !== integrity) throw new Error(`${name} is not the package of package-lock.json`);
  output(["tar", "-xzf", archive], folder);
  const file = platform.startsWith("windows") ? "bun.exe" : "bun";
  return { executable: join(folder, "package/bin", file), target };
}

function output(command: string[], cwd: string): string {
  const { success, stdout, stderr } = Bun.spawnSync(command, { cwd });
  if (!success) throw new Error(`${command.join(" ")} failed: ${stderr.toString()}`);
  return stdout.toString();
}

/** `assets` is a folder that is embedded under its name. */
async function compile({ outfile, libraries, runtime, backends }: Target, assets: string): Promise<boolean> {
  // A running svc keeps its file; the new one takes the name at the end. Bun appends .exe for Windows.
  const aside = outfile.endsWith(".exe") ? `${outfile.slice(0, -4)}.building.exe` : `${outfile}.building`;
  const { success, logs } = await Bun.build({
    entrypoints: [join(ROOT, "src/entry.ts"), join(ROOT, "src/http/body-thread-main.ts")],
    target: "bun",
    format: "esm",
    splitting: true, // what entry.ts loads later costs nothing before
    minify: { syntax: true },
    bytecode: true, // parsing the sources took more than half of the time to the first answer
    plugins: [librariesFrom(libraries, assets), backendsFrom(backends)],
    compile: {
      outfile: aside,
      assets: [assets],
      autoloadDotenv: false,
      autoloadBunfig: false,
      ...(runtime !== undefined && { executablePath: runtime.executable, target: runtime.target }),
    },
    throw: false,
  });
  for (const message of logs) console.error(message);
  if (!success) return false;
  renameSync(aside, outfile);
  return true;
}

/** Embeds the archives of a folder; the sources name those of linux-x64. One that the platform lacks is empty. */
function librariesFrom(dir: string, temporary: string): Bun.BunPlugin {
  console.log(`embeds the libraries of ${relative(ROOT, dir)}`);
  const empty = join(temporary, "../empty.zst");
  writeFileSync(empty, "");
  const onnx = join(temporary, "../onnx.zst"); // ffi/embedded.ts decompresses it; a sixth of its size
  const module = readFileSync(Bun.resolveSync(ONNX_MODULE, ROOT));
  writeFileSync(onnx, Bun.zstdCompressSync(module, { level: 19 }));
  return {
    name: "libraries of a platform",
    setup(build) {
      build.onResolve({ filter: /prebuilt\/linux-x64\// }, ({ path }) => {
        const archive = join(dir, basename(path));
        return { path: existsSync(archive) ? archive : empty };
      });
      build.onResolve({ filter: new RegExp(`^${ONNX_MODULE}$`) }, () => ({ path: onnx }));
    },
  };
}

/** Embeds back ends in the place of the empty files that the sources name. */
function backendsFrom(files: ReadonlyMap<string, string>): Bun.BunPlugin {
  return {
    name: "back ends inside the executable",
    setup(build) {
      build.onResolve({ filter: /\/bundle\/\w+\.zst$/ }, ({ path }) => ({
        path: files.get(basename(path)) ?? join(BUNDLE, basename(path)),
      }));
    },
  };
}

process.exit(await main());
