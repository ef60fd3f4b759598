// Content of a stored file. It is untrusted and served from svc's origin, so headers forbid scripts and MIME sniffing.

import { ServiceError } from "../core/error.ts";
import type { Files, StoredFile } from "../core/files.ts";

/** The file's bytes. Throws `file_failed` for one that was not made, `file_body_elided` for one whose bytes are gone. */
export async function fileContent(files: Files, file: StoredFile): Promise<Response> {
  if (file.failure !== undefined) {
    throw new ServiceError("file_failed", `the file could not be created: ${file.failure.message}`);
  }
  const body = files.body(file.id);
  if (body === undefined || !(await isReadable(body))) {
    const message = "the content of this file was evicted; upload it again, or have the tool create it again";
    throw new ServiceError("file_body_elided", message);
  }
  return new Response(body, {
    headers: {
      "content-type":
        file.isText && !file.mimeType.includes("charset") ? `${file.mimeType}; charset=utf-8` : file.mimeType,
      "content-length": String(body.size),
      "content-disposition": disposition(file.name),
      "content-security-policy": "sandbox; default-src 'none'",
      "x-content-type-options": "nosniff",
    },
  });
}

/** Whether there still are bytes: a body may go between being found and being read. */
async function isReadable(body: Blob): Promise<boolean> {
  try {
    await body.slice(0, 1).arrayBuffer();
    return true;
  } catch {
    return false;
  }
}

/** RFC 6266: a name of plain characters for old clients, and the real one. */
function disposition(name: string): string {
  const plain = name.replaceAll(/[^\x20-\x7e]|["\\%]/gu, "_");
  return `inline; filename="${plain}"; filename*=UTF-8''${encoded(name)}`;
}

/** RFC 5987: encodeURIComponent leaves some characters that the header's grammar does not. A lone surrogate has no bytes. */
function encoded(name: string): string {
  return encodeURIComponent(name.toWellFormed()).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
