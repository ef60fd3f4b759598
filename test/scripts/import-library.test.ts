// Import libraries of Windows without what a DLL exports of the C library (prebuilt/import-library.ts).

import { expect, test } from "bun:test";
import { withoutCLibrary } from "../../prebuilt/import-library.ts";

function member(name: string, content: Buffer): Buffer {
  const header = `${name.padEnd(48)}${String(content.length).padEnd(10)}\`\n`;
  return Buffer.concat([Buffer.from(header), content, Buffer.alloc(content.length % 2, "\n")]);
}

function shortImport(symbol: string): Buffer {
  const head = Buffer.alloc(20);
  head.writeUInt32LE(0xffff_0000, 0);
  return member("x.dll/", Buffer.concat([head, Buffer.from(`${symbol}\0x.dll\0`)]));
}

const archive = (...members: Buffer[]): Buffer => Buffer.concat([Buffer.from("!<arch>\n"), ...members]);
const object = member("x.dll/", Buffer.from("an object, not an import"));

test("imports of the C library and symbol tables are removed, all else stays byte for byte", () => {
  const kept = [object, shortImport("ggml_init"), shortImport("_ZN4ggml3cpuE"), shortImport("odd")];
  const removed = [
    member("/", Buffer.from("table")),
    shortImport("atexit"),
    shortImport("_CRT_INIT"),
    shortImport("__mingw_init"),
  ];
  const [first = object, ...others] = kept;
  expect(withoutCLibrary(archive(...removed, first, shortImport("atexit"), ...others))).toEqual(
    archive(...kept),
  );
});

test("a file that is no archive is refused", () => {
  expect(() => withoutCLibrary(Buffer.from("MZ, a DLL"))).toThrow("is no archive");
});

test("members with a name in the table of long names get a short one", () => {
  const content = Buffer.from("an object");
  const input = archive(member("//", Buffer.from("libllama-common.dll\0")), member("/0", content));
  expect(withoutCLibrary(input)).toEqual(archive(member("member/", content)));
});
