// Image and audio content parts, common to all dialects.

import type { FileSource, NamedMedia } from "../../core/agent.ts";
import { ServiceError } from "../../core/error.ts";
import type { Modality } from "../../core/message.ts";
import { isRecord } from "./check.ts";

/** A URL with a scheme other than `data:`. Anything else is the file itself, as a data URL or bare base64. */
const REMOTE_URL = /^(?!data:)[a-z][a-z\d+.-]*:/i;

/** The source of a file sent as a URL: inline (data URL or base64), or remote, to be fetched. */
export function urlSource(url: string): FileSource {
  return REMOTE_URL.test(url) ? { type: "remote", url } : { type: "inline", data: url };
}

export function namedMedia(modality: Modality, source: FileSource, param: string): NamedMedia {
  return { type: "media", modality, source, param };
}

/** Throws `unsupported_capability` for a video part of a message. Runs before the schema check. */
export function refuseVideo(parts: unknown, path: string): void {
  if (!Array.isArray(parts)) return;
  for (const [index, part] of parts.entries()) {
    const type = isRecord(part) ? part["type"] : undefined;
    if (type !== "video_url" && type !== "input_video" && type !== "video") continue;
    const param = `${path}[${index}]`;
    const message = `${param} has type "${type}"; video is not supported, send single frames as images`;
    throw new ServiceError("unsupported_capability", message, { param });
  }
}
