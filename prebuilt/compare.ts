// Says which libraries of two manifests differ, and fails where the same toolchain made other bytes:
//
//   bun prebuilt/compare.ts COMMITTED_MANIFEST NEW_MANIFEST

import { readFileSync } from "node:fs";
import type { Manifest } from "../ffi/extract.ts";

const [committed, built] = process.argv
  .slice(2)
  .map((path): Manifest => JSON.parse(readFileSync(path, "utf8")));
if (committed === undefined || built === undefined)
  throw new Error("usage: bun prebuilt/compare.ts COMMITTED_MANIFEST NEW_MANIFEST");
for (const [name, before] of Object.entries(committed.archives)) {
  const after = built.archives[name];
  const sums = new Map(after?.files.map((file) => [file.name, file.sha256]));
  const others = before.files.filter((file) => sums.get(file.name) !== file.sha256);
  const isSame = others.length === 0 && before.files.length === after?.files.length;
  const isOther = before.toolchain !== after?.toolchain;
  const outcome = isSame ? "the same bytes" : `${others.map((file) => file.name).join(", ")} differ`;
  console.log(
    `${name}: ${before.files.length} files, ${outcome}${isOther ? `; built with ${after?.toolchain}` : ""}`,
  );
  if (!isSame && !isOther) process.exitCode = 1;
}
