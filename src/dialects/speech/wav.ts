// The head of a WAV file. It is 44 fixed bytes, which the packages for WAV files only write around samples that are all
// there; here they are not.

const HEAD_BYTES = 44;
const SAMPLE_BYTES = 2;
/** Integer samples, as against floats and compressed ones. */
const FORMAT_PCM = 1;
/** Bytes of the `fmt ` chunk's content. */
const FORMAT_BYTES = 16;
/** Stands for a size that is not known yet: players then read to the end. */
const UNKNOWN_SIZE = 0xffff_ffff;

/** The head of a file with one channel of 16-bit samples. `dataBytes` absent: the length is not known yet. */
export function wavHead(sampleRate: number, dataBytes?: number): Uint8Array<ArrayBuffer> {
  const head = new DataView(new ArrayBuffer(HEAD_BYTES));
  let at = 0;
  const text = (word: string): void => {
    for (const character of word) head.setUint8(at++, character.charCodeAt(0));
  };
  const u16 = (value: number): void => {
    head.setUint16(at, value, true);
    at += 2;
  };
  const u32 = (value: number): void => {
    head.setUint32(at, value, true);
    at += 4;
  };
  text("RIFF");
  u32(dataBytes === undefined ? UNKNOWN_SIZE : HEAD_BYTES - 8 + dataBytes);
  text("WAVEfmt ");
  u32(FORMAT_BYTES);
  u16(FORMAT_PCM);
  u16(1); // channels
  u32(sampleRate);
  u32(sampleRate * SAMPLE_BYTES);
  u16(SAMPLE_BYTES);
  u16(SAMPLE_BYTES * 8);
  text("data");
  u32(dataBytes ?? UNKNOWN_SIZE);
  return new Uint8Array(head.buffer);
}
