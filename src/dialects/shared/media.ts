// Pictures and recordings as the dialects name them.

import type { FileSource, NamedMedia } from "../../core/agent.ts";
import { ServiceError } from "../../core/error.ts";
import type { Modality } from "../../core/message.ts";
import { isRecord } from "./check.ts";

/** What has a scheme is an address; a data URL, or base64 without one, is the file itself. */
const ADDRESS = /^(?!data:)[a-z][a-z\d+.-]*:/i;

/** Where the bytes are of what a client names by a URL: a data URL, base64, or an address to be fetched. */
export function urlSource(url: string): FileSource {
  return ADDRESS.test(url) ? { type: "remote", url } : { type: "inline", data: url };
}

export function namedMedia(modality: Modality, source: FileSource, param: string): NamedMedia {
  return { type: "media", modality, source, param };
}

/** Throws `unsupported_capability` for films among the parts of a message. Runs before the schema check. */
export function refuseVideo(parts: unknown, path: string): void {
  if (!Array.isArray(parts)) return;
  for (const [index, part] of parts.entries()) {
    const type = isRecord(part) ? part["type"] : undefined;
    if (type !== "video_url" && type !== "input_video" && type !== "video") continue;
    const param = `${path}[${index}]`;
    const message = `${param} has the type "${type}"; this server takes no video, send single images of it instead`;
    throw new ServiceError("unsupported_capability", message, { param });
  }
}
