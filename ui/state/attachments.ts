// Files of the reader's machine as attachments. Pictures and recordings in formats that servers do not read are made into
// ones that they do: browsers read more than servers.

import type { Attachment } from "./conversation.ts";
import { formatBytes } from "../format.ts";
import { mediaTypeOf } from "./media-types.ts";
import { wavFile } from "./wav.ts";

/** Largest file. The server takes bodies up to 50 MB, and base64 makes a third more of it. Bytes. */
const BYTES_MAX = 24 * 1024 * 1024;

/** Models listen at this rate. Samples a second. */
const RECORDING_RATE = 16_000;
const JPEG_QUALITY = 0.92;

/** Reads a file. Throws an Error for people when it is too large or cannot be read. */
export async function readAttachment(file: File): Promise<Attachment> {
  const name = file.name === "" ? "pasted" : file.name;
  if (file.size > BYTES_MAX) throw new Error(`${name} is larger than ${formatBytes(BYTES_MAX)}.`);
  const mime = file.type === "" ? "application/octet-stream" : (file.type.split(";", 1)[0] ?? file.type);
  const blob = mediaTypeOf({ mime }) === undefined ? ((await converted(file, mime)) ?? file) : file;
  const read = blob === file ? mime : blob.type;
  if (blob.size > BYTES_MAX) throw new Error(`${name} is too long: it may have ${formatBytes(BYTES_MAX)}.`);
  return { name, mime: read, bytes: blob.size, data: await dataUrl(blob, read, name) };
}

/** A picture or recording in a format that servers read; undefined for what this browser can't read either. */
async function converted(file: File, mime: string): Promise<Blob | undefined> {
  try {
    if (mime.startsWith("image/") && mime !== "image/svg+xml") return await asJpeg(file);
    if (mime.startsWith("audio/")) return await asWav(file);
  } catch {
    // it stays the file that it is
  }
  return undefined;
}

async function asJpeg(file: File): Promise<Blob> {
  const bitmap = await createImageBitmap(file);
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
  const context = canvas.getContext("2d");
  if (context === null) throw new Error("this browser does not draw");
  context.fillStyle = "#fff"; // JPEG has nothing that shows through
  context.fillRect(0, 0, bitmap.width, bitmap.height);
  context.drawImage(bitmap, 0, 0);
  bitmap.close();
  return canvas.convertToBlob({ type: "image/jpeg", quality: JPEG_QUALITY });
}

async function asWav(file: File): Promise<Blob> {
  const decoder = new OfflineAudioContext(1, 1, RECORDING_RATE);
  const decoded = await decoder.decodeAudioData(await file.arrayBuffer()); // already at the context's rate
  const mixer = new OfflineAudioContext(1, decoded.length, RECORDING_RATE);
  const source = new AudioBufferSourceNode(mixer, { buffer: decoded });
  source.connect(mixer.destination);
  source.start();
  const mono = (await mixer.startRendering()).getChannelData(0);
  const samples = Int16Array.from(mono, (value) => Math.max(-1, Math.min(1, value)) * 32_767);
  return wavFile([new Uint8Array(samples.buffer)], RECORDING_RATE);
}

async function dataUrl(blob: Blob, mime: string, name: string): Promise<string> {
  const reader = new FileReader();
  return new Promise((resolve, reject) => {
    reader.addEventListener("load", () => {
      const url = typeof reader.result === "string" ? reader.result : "";
      resolve(`data:${mime};base64,${url.slice(url.indexOf(",") + 1)}`); // the reader leaves the type out if it has none
    });
    reader.addEventListener("error", () => reject(new Error(`${name} can't be read.`)));
    reader.readAsDataURL(blob);
  });
}
