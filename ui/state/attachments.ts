// Files of the reader's machine as attachments.

import type { Attachment } from "./conversation.ts";
import { formatBytes } from "../format.ts";

/** Largest file. The server takes bodies up to 50 MB, and base64 makes a third more of it. Bytes. */
const BYTES_MAX = 24 * 1024 * 1024;

/** Reads a file. Throws an Error for people when it is too large or cannot be read. */
export async function readAttachment(file: File): Promise<Attachment> {
  const { name, type, size } = file;
  if (size > BYTES_MAX) throw new Error(`${name} is larger than ${formatBytes(BYTES_MAX)}.`);
  const mime = type === "" ? "application/octet-stream" : (type.split(";", 1)[0] ?? type);
  return { name: name === "" ? "pasted" : name, mime, bytes: size, data: await dataUrl(file, mime) };
}

async function dataUrl(file: File, mime: string): Promise<string> {
  const reader = new FileReader();
  return new Promise((resolve, reject) => {
    reader.addEventListener("load", () => {
      const url = typeof reader.result === "string" ? reader.result : "";
      resolve(`data:${mime};base64,${url.slice(url.indexOf(",") + 1)}`); // the reader leaves the type out if it has none
    });
    reader.addEventListener("error", () => reject(new Error(`${file.name} can't be read.`)));
    reader.readAsDataURL(file);
  });
}
