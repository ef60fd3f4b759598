// Builds the executable:  bun src/build.ts [--platform linux-arm64] [OUTFILE]
// The platform is this machine's unless named; prebuilt/ must hold its libraries. The runtime of another one comes from npm. Bun's
// autoloading of .env and bunfig.toml from the working directory is off: it would run code of that directory's owner.

import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, relative } from "node:path";
import { parseArgs } from "node:util";
import { librariesDir, PLATFORM } from "../prebuilt/inputs.ts";
import { UI_FOLDER, uiBundle } from "./http/ui-bundle.ts";

const ROOT = join(import.meta.dir, "..");

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
  };

/** What to build and from which files. */
interface Target {
  readonly outfile: string;
  /** Folder of the native archives. */
  readonly libraries: string;
  /** The runtime that the executable contains; undefined for the one that runs this. */
  readonly runtime: Runtime | undefined;
}

/** The part of package-lock.json that this reads. */
interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly integrity?: string }>>;
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    options: { platform: { type: "string", default: PLATFORM } },
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
    const target = {
      platform: values.platform,
      outfile: positionals[0] ?? join(ROOT, "svc"),
      libraries,
      runtime,
    };
    return (await compile(target, join(folder, UI_FOLDER))) ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Downloads Bun for another platform, as its npm package of the locked version, and checks it against the lock file. */
function runtimeOf(platform: string, folder: string): Runtime {
  const known = RUNTIMES[platform];
  if (known === undefined) throw new Error(`cannot build for ${platform} on ${PLATFORM}`);
  const { npm: name, target } = known;
  const lock: Lock = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8"));
  const { version, integrity } = lock.packages[`node_modules/${name}`] ?? {};
  if (integrity === undefined) throw new Error(`package-lock.json has no ${name}`);
  const [file = ""] = output(["npm", "pack", "--silent", `${name}@${version}`], folder).split("\n");
  const digest = createHash("sha512")
    .update(readFileSync(join(folder, file)))
    .digest("base64");
  if (`sha512-${digest}` !== integrity) throw new Error(`${name} is not the package of package-lock.json`);
  output(["tar", "-xzf", file], folder);
  return { executable: join(folder, "package/bin/bun"), target };
}

function output(command: string[], cwd: string): string {
  const { success, stdout, stderr } = Bun.spawnSync(command, { cwd });
  if (!success) throw new Error(`${command.join(" ")} failed: ${stderr.toString()}`);
  return stdout.toString();
}

/** `assets` is a folder that is embedded under its name. */
async function compile({ outfile, libraries, runtime }: Target, assets: string): Promise<boolean> {
  const aside = `${outfile}.building`; // a running svc keeps its file; the new one takes the name at the end
  const { success, logs } = await Bun.build({
    entrypoints: [join(ROOT, "src/entry.ts")],
    target: "bun",
    format: "esm",
    splitting: true, // what entry.ts loads later costs nothing before
    minify: { syntax: true },
    bytecode: true, // parsing the sources took more than half of the time to the first answer
    plugins: [librariesFrom(libraries)],
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

/** Embeds the archives of a folder; the sources name those of linux-x64. */
function librariesFrom(dir: string): Bun.BunPlugin {
  console.log(`embeds the libraries of ${relative(ROOT, dir)}`);
  return {
    name: "libraries of a platform",
    setup(build) {
      build.onResolve({ filter: /prebuilt\/linux-x64\// }, ({ path }) => ({
        path: join(dir, basename(path)),
      }));
    },
  };
}

process.exit(await main());
