// Zip archives entry by entry, so that tests can make ones that no packer would.

import { crc32, deflateRawSync } from "node:zlib";

export interface TestEntry {
  readonly name: string;
  readonly content?: string | Uint8Array;
  /** Unix mode with type bits. */
  readonly mode?: number;
  /** What the archive claims instead of the truth. */
  readonly size?: number;
  readonly method?: number;
  /** General purpose bits: 1 is encrypted. */
  readonly flags?: number;
}

const UTF8_NAMES = 0x800;

/** The bytes of an archive; deflated unless an entry says otherwise. */
export function zipOf(entries: readonly TestEntry[]): Uint8Array<ArrayBuffer> {
  const locals: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let offset = 0;
  for (const { name, content = "", mode = 0o100644, method = 8, flags = 0, ...claimed } of entries) {
    const bytes = typeof content === "string" ? Buffer.from(content) : content;
    const packed = method === 8 ? deflateRawSync(bytes) : bytes;
    const nameBytes = Buffer.from(name);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(flags | UTF8_NAMES, 2);
    common.writeUInt16LE(method, 4);
    common.writeUInt32LE(crc32(bytes), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(claimed.size ?? bytes.length, 18);
    common.writeUInt16LE(nameBytes.length, 22);
    const local = Buffer.concat([Buffer.from("PK\u0003\u0004"), common, nameBytes, packed]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE((mode << 16) >>> 0, 6);
    tail.writeUInt32LE(offset, 10);
    directory.push(Buffer.from("PK\u0001\u0002"), Buffer.from([20, 3]), common, tail, nameBytes);
    locals.push(local);
    offset += local.length;
  }
  const end = Buffer.alloc(18);
  const directoryBytes = directory.reduce((sum, piece) => sum + piece.length, 0);
  end.writeUInt16LE(entries.length, 4);
  end.writeUInt16LE(entries.length, 6);
  end.writeUInt32LE(directoryBytes, 8);
  end.writeUInt32LE(offset, 12);
  return new Uint8Array(Buffer.concat([...locals, ...directory, Buffer.from("PK\u0005\u0006"), end]));
}
