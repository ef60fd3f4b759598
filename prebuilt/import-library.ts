// Removes a DLL's imports of the C library from its import library. zig exports the C library that it links into each DLL, and a DLL
// that links against another one would have two definitions of `atexit`. Knows the archive format, and of COFF the short import alone.
//
//   bun prebuilt/import-library.ts FILE.dll.a      its symbol table is removed too: run ranlib afterwards

import { readFileSync, writeFileSync } from "node:fs";

const MAGIC = "!<arch>\n";
const HEADER_BYTES = 60;
const NAME_BYTES = 16;
const C_LIBRARY = /^(?:atexit|_CRT_INIT|__.*)$/;

/** The symbol that a short import declares, undefined for other members of an archive. */
function importedName(member: Buffer): string | undefined {
  if (member.length < 20 || member.readUInt32LE(0) !== 0xffff_0000) return undefined;
  return member.toString("latin1", 20, member.indexOf(0, 20));
}

/** A member whose name is an offset in a table of long names, under a short name: the DLL's name is in the import itself. */
function shortlyNamed(member: Buffer): Buffer {
  if (!/^\/\d/.test(member.toString("latin1", 0, NAME_BYTES))) return member;
  return Buffer.concat([Buffer.from("member/".padEnd(NAME_BYTES)), member.subarray(NAME_BYTES)]);
}

/** The archive without tables of symbols and long names, and without the members that import from the C library. */
export function withoutCLibrary(archive: Buffer): Buffer {
  if (archive.toString("latin1", 0, MAGIC.length) !== MAGIC) throw new Error("is no archive");
  const kept: Uint8Array[] = [Buffer.from(MAGIC)];
  for (let at = MAGIC.length; at < archive.length; ) {
    const size = Number(archive.toString("latin1", at + 48, at + 58));
    const end = at + HEADER_BYTES + size + (size % 2);
    const isTable = ["/", "//"].includes(archive.toString("latin1", at, at + NAME_BYTES).trim());
    const name = importedName(archive.subarray(at + HEADER_BYTES, at + HEADER_BYTES + size));
    if (!isTable && (name === undefined || !C_LIBRARY.test(name)))
      kept.push(shortlyNamed(archive.subarray(at, end)));
    at = end;
  }
  return Buffer.concat(kept);
}

if (import.meta.main) {
  const [file] = process.argv.slice(2);
  if (file === undefined) throw new Error("usage: bun prebuilt/import-library.ts FILE.dll.a");
  writeFileSync(file, withoutCLibrary(readFileSync(file)));
}
