// Builds the executable:  bun src/build.ts [OUTFILE]
// One platform a build; prebuilt/ must hold its libraries. Bun's own autoloading of .env and bunfig.toml from the working
// directory is switched off: it would run code of whoever owns that directory.

import { existsSync, renameSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "..");

async function main(): Promise<number> {
  const platform = `${process.platform}-${process.arch}`;
  if (!existsSync(join(ROOT, "prebuilt", platform, "manifest.json"))) {
    console.error(`prebuilt/${platform} is missing: make it with prebuilt/build.sh`);
    return 1;
  }
  const outfile = process.argv[2] ?? join(ROOT, "svc");
  const aside = `${outfile}.building`; // a running svc keeps its file; the new one takes the name at the end
  const child = Bun.spawnSync(
    [
      process.execPath,
      "build",
      "--compile",
      "--splitting", // what entry.ts loads later costs nothing before
      "--minify-syntax",
      "--no-compile-autoload-dotenv",
      "--no-compile-autoload-bunfig",
      join(ROOT, "src/entry.ts"),
      `--outfile=${aside}`,
    ],
    { stdio: ["ignore", "ignore", "inherit"] },
  );
  if (child.exitCode !== 0) return 1;
  renameSync(aside, outfile);
  return 0;
}

process.exit(await main());
