// Image, audio and video content parts, common to all dialects.

import type { FileSource, InputModality, NamedMedia } from "../../core/agent.ts";

/** A URL with a scheme other than `data:`. Anything else is the file itself, as a data URL or bare base64. */
const REMOTE_URL = /^(?!data:)[a-z][a-z\d+.-]*:/i;

/** The source of a file sent as a URL: inline (data URL or base64), or remote, to be fetched. */
export function urlSource(url: string): FileSource {
  return REMOTE_URL.test(url) ? { type: "remote", url } : { type: "inline", data: url };
}

export function namedMedia(modality: InputModality, source: FileSource, param: string): NamedMedia {
  return { type: "media", modality, source, param };
}
