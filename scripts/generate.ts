// Writes everything in this repository that is generated from its sources:  npm run generate
// With --check (part of `npm run check`) it writes nothing and fails where a file is out of date.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { symbolTables } from "../ffi/generate.ts";
import { documents } from "../src/config/document.ts";
import { clientText } from "./client-text.ts";
import { lintConfig } from "./lint-config.ts";
import { withBlock } from "./marked-block.ts";
import { projectorTable } from "./projector-table.ts";
import { samplingTable } from "./sampling-table.ts";
import { STYLE } from "./style.ts";
import { glossaryTable } from "./terms.ts";

const ROOT = join(import.meta.dir, "..");

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

/** Path from the repository's root → content. */
function generated(): Readonly<Record<string, string>> {
  return {
    ...documents(),
    ...symbolTables(),
    ".oxlintrc.json": lintConfig(read(".oxlintrc.json")),
    "ARCHITECTURE.md": withBlocks("ARCHITECTURE.md", { glossary: glossaryTable() }),
    "docs/models.md": withBlocks("docs/models.md", { projectors: projectorTable() }),
    "docs/clients.md": withBlocks("docs/clients.md", { clients: clientText() }),
    "docs/fleet.md": withBlocks("docs/fleet.md", { sampling: samplingTable() }),
    "AGENTS.md": withBlocks("AGENTS.md", { style: styleRule() }),
  };
}

function withBlocks(path: string, blocks: Readonly<Record<string, string>>): string {
  return Object.entries(blocks).reduce((text, [name, content]) => withBlock(text, name, content), read(path));
}

function styleRule(): string {
  const { fileLines, functionLines, parameters, nesting } = STYLE;
  return `- At most ${fileLines} lines a file, ${functionLines} a function, ${parameters} parameters, ${nesting} levels of nesting; the linter counts. Split a
  file where a noun ends, not where the count does.`;
}

const outdated = Object.entries(generated()).filter(([path, text]) => !isCurrent(path, text));

function isCurrent(path: string, text: string): boolean {
  try {
    return read(path) === text;
  } catch {
    return false; // not written yet
  }
}

if (process.argv.includes("--check")) {
  for (const [path] of outdated) console.error(`${path} is out of date; run npm run generate`);
  if (outdated.length > 0) process.exitCode = 1;
} else {
  for (const [path, text] of outdated) {
    writeFileSync(join(ROOT, path), text);
    console.log(path);
  }
}
