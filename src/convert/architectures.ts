// Architectures that llama.cpp's converter supports, checked before Python is needed.

import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { visibleLine } from "../core/visible-text.ts";
import { CONFIG_BYTES_MAX } from "./limits.ts";
import { readConverter } from "./scripts.ts";

/** The architecture of a folder's config.json, in a line for a terminal, if the converter does not support it. */
export function unknownArchitecture(folder: string): string | undefined {
  const [architecture] = architecturesOf(join(folder, "config.json"));
  if (architecture === undefined) return undefined; // the converter knows some by other fields
  // It registers architectures by decorators with their names.
  const isKnown = Object.values(readConverter().files).some((text) => text.includes(`"${architecture}"`));
  return isKnown ? undefined : visibleLine(architecture);
}

/** Throws a sentence for people. */
function architecturesOf(path: string): readonly string[] {
  let config: unknown;
  try {
    const file = statSync(path);
    if (!file.isFile() || file.size > CONFIG_BYTES_MAX) throw new Error("it is no configuration");
    config = JSON.parse(readFileSync(path, "utf8"));
  } catch {
    throw new Error(`${path} is not valid JSON. Download it again.`);
  }
  if (typeof config !== "object" || config === null || !("architectures" in config)) return [];
  const { architectures } = config;
  return Array.isArray(architectures) ? architectures.filter((name) => typeof name === "string") : [];
}
