// Header of a WAV file, 44 bytes. Written here because WAV packages need all samples up front, and speech is streamed.

/** Bytes before the samples, and of a sample. */
export const WAV_HEADER_BYTES = 44;
export const WAV_SAMPLE_BYTES = 2;
/** Format code of integer samples. */
const FORMAT_PCM = 1;
/** Size of the `fmt ` chunk, bytes. */
const FORMAT_BYTES = 16;
/** Placeholder for an unknown size; players then read to the end of the stream. */
const UNKNOWN_SIZE = 0xffff_ffff;

/** Header of a file with one channel of 16-bit samples. `dataBytes` absent: the length is not known yet. */
export function wavHeader(sampleRate: number, dataBytes?: number): Uint8Array<ArrayBuffer> {
  const head = new DataView(new ArrayBuffer(WAV_HEADER_BYTES));
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
  u32(dataBytes === undefined ? UNKNOWN_SIZE : WAV_HEADER_BYTES - 8 + dataBytes);
  text("WAVEfmt ");
  u32(FORMAT_BYTES);
  u16(FORMAT_PCM);
  u16(1); // channels
  u32(sampleRate);
  u32(sampleRate * WAV_SAMPLE_BYTES);
  u16(WAV_SAMPLE_BYTES);
  u16(WAV_SAMPLE_BYTES * 8);
  text("data");
  u32(dataBytes ?? UNKNOWN_SIZE);
  return new Uint8Array(head.buffer);
}

/** The whole file. */
export function wavFile(samples: Uint8Array, sampleRate: number): Uint8Array<ArrayBuffer> {
  const file = new Uint8Array(WAV_HEADER_BYTES + samples.byteLength);
  file.set(wavHeader(sampleRate, samples.byteLength));
  file.set(samples, WAV_HEADER_BYTES);
  return file;
}
