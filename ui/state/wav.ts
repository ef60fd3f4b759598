// Builds a WAV file from samples. Pure.

const HEADER_BYTES = 44;
const BYTES_PER_SAMPLE = 2;

/** A WAV file with one channel of 16-bit little-endian samples. `rate`: sample rate, Hz. */
export function wavFile(chunks: readonly Uint8Array<ArrayBuffer>[], rate: number): Blob {
  const bytes = chunks.reduce((sum, { byteLength }) => sum + byteLength, 0);
  const head = new DataView(new ArrayBuffer(HEADER_BYTES));
  const word = (at: number, letters: string): void => {
    for (let index = 0; index < letters.length; index++)
      head.setUint8(at + index, letters.codePointAt(index) ?? 0);
  };
  word(0, "RIFF");
  head.setUint32(4, HEADER_BYTES - 8 + bytes, true);
  word(8, "WAVEfmt ");
  head.setUint32(16, 16, true); // size of the format chunk, bytes
  head.setUint16(20, 1, true); // integer samples
  head.setUint16(22, 1, true); // channels
  head.setUint32(24, rate, true);
  head.setUint32(28, rate * BYTES_PER_SAMPLE, true);
  head.setUint16(32, BYTES_PER_SAMPLE, true);
  head.setUint16(34, 8 * BYTES_PER_SAMPLE, true);
  word(36, "data");
  head.setUint32(40, bytes, true);
  return new Blob([head, ...chunks], { type: "audio/wav" });
}
