// Builds the executable:  bun src/build.ts [OUTFILE]
// One platform a build; prebuilt/ must hold its libraries. Bun's autoloading of .env and bunfig.toml from the working
// directory is off: it would run code of that directory's owner.

import { existsSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { localDir } from "../prebuilt/inputs.ts";
import { UI_FOLDER, uiBundle } from "./http/ui-bundle.ts";

const ROOT = join(import.meta.dir, "..");

async function main(): Promise<number> {
  const platform = `${process.platform}-${process.arch}`;
  if (!existsSync(join(ROOT, "prebuilt", platform, "manifest.json"))) {
    console.error(`prebuilt/${platform} is missing: make it with prebuilt/build.sh`);
    return 1;
  }
  const folder = mkdtempSync(join(tmpdir(), "svc-build-"));
  try {
    await Bun.build({ ...uiBundle(), outdir: join(folder, UI_FOLDER) });
    return (await compile(join(folder, UI_FOLDER))) ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** `assets` is a folder that is embedded under its name. */
async function compile(assets: string): Promise<boolean> {
  const outfile = process.argv[2] ?? join(ROOT, "svc");
  const aside = `${outfile}.building`; // a running svc keeps its file; the new one takes the name at the end
  const { success, logs } = await Bun.build({
    entrypoints: [join(ROOT, "src/entry.ts")],
    target: "bun",
    format: "esm",
    splitting: true, // what entry.ts loads later costs nothing before
    minify: { syntax: true },
    bytecode: true, // parsing the sources took more than half of the time to the first answer
    plugins: [localLibraries(localDir())],
    compile: { outfile: aside, assets: [assets], autoloadDotenv: false, autoloadBunfig: false },
    throw: false,
  });
  for (const message of logs) console.error(message);
  if (!success) return false;
  renameSync(aside, outfile);
  return true;
}

/** Embeds the archives of a local build in place of the committed ones. */
function localLibraries(dir: string | undefined): Bun.BunPlugin {
  return {
    name: "local libraries",
    setup(build) {
      if (dir === undefined) return;
      console.log(`embeds the local build of ${dir}`);
      build.onResolve({ filter: /prebuilt\/linux-x64\// }, ({ path }) => ({
        path: join(dir, basename(path)),
      }));
    },
  };
}

process.exit(await main());
