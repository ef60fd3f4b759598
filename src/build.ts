// Builds the executable:  bun src/build.ts [OUTFILE]
// One platform a build; prebuilt/ must hold its libraries. Bun's own autoloading of .env and bunfig.toml from the working
// directory is switched off: it would run code of whoever owns that directory.

import { existsSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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
    return compile(join(folder, UI_FOLDER)) ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** `assets` is a folder that the executable will carry under its own name. */
function compile(assets: string): boolean {
  const outfile = process.argv[2] ?? join(ROOT, "svc");
  const aside = `${outfile}.building`; // a running svc keeps its file; the new one takes the name at the end
  const child = Bun.spawnSync(
    [
      process.execPath,
      "build",
      "--compile",
      "--splitting", // what entry.ts loads later costs nothing before
      "--minify-syntax",
      "--bytecode", // parsing the sources took more than half of the time to the first answer
      "--format=esm",
      "--no-compile-autoload-dotenv",
      "--no-compile-autoload-bunfig",
      join(ROOT, "src/entry.ts"),
      `--asset=${assets}`,
      `--outfile=${aside}`,
    ],
    { stdio: ["ignore", "ignore", "inherit"] },
  );
  if (child.exitCode !== 0) return false;
  renameSync(aside, outfile);
  return true;
}

process.exit(await main());
