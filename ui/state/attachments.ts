// Reads files into attachments. Converts images and audio in formats that the engine does not read to JPEG and WAV where the browser
// can: then a server needs no decoder, and photos are smaller.

import type { Attachment } from "./conversation.ts";
import { documentKind } from "../../src/reader/documents/reading.ts";
import { readDocument } from "../documents/document.ts";
import { formatBytes } from "../format.ts";
import { mediaTypeOf, mimeOfFile } from "./media-types.ts";
import { bytesOf } from "./text-files.ts";
import { wavFile } from "./wav.ts";
import { t } from "../texts/texts.ts";

/** Largest file, bytes. The server accepts bodies up to 50 MB, and base64 adds a third. */
export const BYTES_MAX = 24 * 1024 * 1024;

/** Sample rate of audio models, Hz. */
const AUDIO_RATE = 16_000;
const JPEG_QUALITY = 0.92;

/** Pages of a PDF that are sent as images: each takes about a thousand tokens. */
export const PAGE_IMAGES_MAX = 16;
/** Characters of a page up to which it counts as an image. */
const SCAN_CHARS_MAX = 30;

/** Reads a file. Throws an Error with a message for display if it is too large or cannot be read. */
export async function readAttachment(file: File): Promise<Attachment> {
  const name = file.name === "" ? "pasted" : file.name;
  if (file.size > BYTES_MAX) throw new Error(t.files.tooLarge(name, formatBytes(BYTES_MAX)));
  const mime = mimeOfFile(file);
  const type = mediaTypeOf({ mime });
  const isPlain = type !== undefined && type.isForeign !== true;
  const blob = isPlain ? file : ((await converted(file, mime)) ?? file);
  const read = blob === file ? mime : blob.type;
  if (blob.size > BYTES_MAX) {
    throw new Error(t.files.tooLargeConverted(name, formatBytes(BYTES_MAX)));
  }
  const attachment = { name, mime: read, bytes: blob.size, data: await dataUrl(blob, read, name) };
  return { ...attachment, ...(await documentText(attachment, blob)) };
}

/** Text and number of pages of a document; nothing for other files. */
async function documentText({ name, mime }: Attachment, blob: Blob): Promise<Partial<Attachment>> {
  const kind = documentKind(name, mime);
  if (kind === undefined) return {};
  try {
    return await readDocument(kind, name, new Uint8Array(await blob.arrayBuffer()));
  } catch (error) {
    throw new Error(t.files.unreadable(name, error instanceof Error ? error.message : String(error)), {
      cause: error,
    });
  }
}

/** A PDF with its first pages as images. Throws an Error with a message for display. */
export async function withPageImages(attachment: Attachment): Promise<Attachment> {
  const { pdfImages } = await import("../documents/pdf.ts");
  return { ...attachment, images: await pdfImages(bytesOf(attachment), PAGE_IMAGES_MAX) };
}

/** Whether a PDF has next to no text: its pages are images. */
export function isScan({ pages = 0, text = "" }: Attachment): boolean {
  return text.length < pages * SCAN_CHARS_MAX;
}

/** An image or audio file converted to a supported format; undefined if this browser cannot decode it. */
async function converted(file: File, mime: string): Promise<Blob | undefined> {
  try {
    if (mime.startsWith("image/") && mime !== "image/svg+xml") return await asJpeg(file);
    if (mime.startsWith("audio/")) return await asWav(file);
  } catch {
    // sent unconverted, as a file
  }
  return undefined;
}

async function asJpeg(file: File): Promise<Blob> {
  const bitmap = await createImageBitmap(file);
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
  const context = canvas.getContext("2d");
  if (context === null) throw new Error("no 2D canvas context");
  context.fillStyle = "#fff"; // JPEG has no transparency
  context.fillRect(0, 0, bitmap.width, bitmap.height);
  context.drawImage(bitmap, 0, 0);
  bitmap.close();
  return canvas.convertToBlob({ type: "image/jpeg", quality: JPEG_QUALITY });
}

async function asWav(file: File): Promise<Blob> {
  const decoder = new OfflineAudioContext(1, 1, AUDIO_RATE);
  const decoded = await decoder.decodeAudioData(await file.arrayBuffer()); // already at the context's rate
  const mixer = new OfflineAudioContext(1, decoded.length, AUDIO_RATE);
  const source = new AudioBufferSourceNode(mixer, { buffer: decoded });
  source.connect(mixer.destination);
  source.start();
  const mono = (await mixer.startRendering()).getChannelData(0);
  const samples = Int16Array.from(mono, (value) => Math.max(-1, Math.min(1, value)) * 32_767);
  return wavFile([new Uint8Array(samples.buffer)], AUDIO_RATE);
}

/** A data URL of a file. Throws an Error with a message for display. */
export async function dataUrl(blob: Blob, mime: string, name: string): Promise<string> {
  const reader = new FileReader();
  return new Promise((resolve, reject) => {
    reader.addEventListener("load", () => {
      const url = typeof reader.result === "string" ? reader.result : "";
      resolve(`data:${mime};base64,${url.slice(url.indexOf(",") + 1)}`); // the reader omits an unknown type
    });
    reader.addEventListener("error", () => reject(new Error(t.files.unreadablePlain(name))));
    reader.readAsDataURL(blob);
  });
}
