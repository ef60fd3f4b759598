// Splits a stream of JPEG files. In their entropy-coded data 0xFF is always followed by a stuffed byte or a restart marker, so an
// end marker before a start marker is a boundary. ITU T.81 B.1.1.

const END_AND_START = Buffer.from([0xff, 0xd9, 0xff, 0xd8]);

/** The files of the stream. */
export function jpegs(stream: Uint8Array<ArrayBuffer>): readonly Uint8Array<ArrayBuffer>[] {
  const bytes = Buffer.from(stream.buffer, stream.byteOffset, stream.byteLength);
  const files: Uint8Array<ArrayBuffer>[] = [];
  for (let start = 0; start < bytes.length;) {
    const boundary = bytes.indexOf(END_AND_START, start);
    const end = boundary < 0 ? bytes.length : boundary + 2;
    files.push(stream.slice(start, end));
    start = end;
  }
  return files;
}
