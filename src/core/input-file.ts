// Names of files in messages, and their text placeholders.

import type { FilePart, InputMessage, InputPart } from "./agent.ts";
import { unreachable } from "./assert.ts";
import type { Files } from "./files.ts";
import { FILE_NAME_CHARS_MAX } from "./limits.ts";
import type { TextPart } from "./message.ts";

/** Name of a file that comes without one. */
const UNNAMED = "input_file";

/** The name of a file: what its sender calls it, or the end of its address. */
export function inputFileName({ source }: FilePart, files: Pick<Files, "get">): string {
  switch (source.type) {
    case "stored":
      return files.get(source.id)?.name ?? UNNAMED;
    case "inline":
      return cleanFileName(source.filename ?? "");
    case "remote":
      return cleanFileName(lastSegment(source.url));
  }
}

/** A name without folders and control characters, of a length that every file system takes. */
export function cleanFileName(name: string): string {
  const base =
    name
      .replaceAll(/\p{Cc}/gu, "")
      .split(/[/\\]/)
      .at(-1)
      ?.trim() ?? "";
  return base === "" || base === "." || base === ".."
    ? UNNAMED
    : base.slice(-FILE_NAME_CHARS_MAX).toWellFormed();
}

function lastSegment(url: string): string {
  const path = URL.parse(url)?.pathname ?? "";
  const segment = path.split("/").at(-1) ?? "";
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Stands in a message where its file was. */
export function fileMarker(name: string): TextPart {
  return { type: "text", text: `[File: ${name.replaceAll(/[\]\n\r]/g, "_")}]` };
}

const MEDIA_TEXTS = { image: "[Image]", audio: "[Audio]", video: "[Video]" } as const;

const FILE_END = "\n[End of file]\n";

/** A whole text in the place of its file. */
export function wholeFile(name: string, text: string): TextPart {
  return { type: "text", text: `${fileMarker(name).text}\n${text}${FILE_END}` };
}

/** Whether a message's text holds the whole text of a file. */
export function hasWholeFile(text: string, name: string): boolean {
  const at = text.indexOf(`${fileMarker(name).text}\n`);
  return at >= 0 && text.includes(FILE_END, at);
}

/** Precedes the frames of a video. */
export const VIDEO_MARKER: TextPart = { type: "text", text: MEDIA_TEXTS.video };

/** A marker. Names have a limit, without which a line of beginnings is read from each of them to its end. */
const MARKER = `\\[File: [^\\]\\n]{0,${FILE_NAME_CHARS_MAX}}\\]`;
const MARKERS = new RegExp(MARKER, "g");
const MARKED_TEXT = new RegExp(`(${MARKER})\\n[^]*`);

/** A text in which all files are called the same and have no text, and videos no frames, so that messages can be compared. An animated image is a video. */
export function comparable(text: string): string {
  const pieces = text.split(FILE_END);
  const last = pieces.pop() ?? "";
  // Up to each end of a file, everything behind the first marker: one pass, however many markers there are.
  const bare = pieces.map((piece) =>
    MARKED_TEXT.test(piece) ? piece.replace(MARKED_TEXT, "$1") : piece + FILE_END,
  );
  return [...bare, last]
    .join("")
    .replaceAll(MARKERS, "[File: ]")
    .replaceAll(/\[Video\](?:(?:\[\d+m\d+\.\ds\])?\[Image\])*/g, MEDIA_TEXTS.image);
}

/** The text of a message with markers for its files and media. */
export function inputText({ content }: InputMessage): string {
  return content.map(partText).join("");
}

/** A stored medium and a sent one read the same. */
function partText(part: InputPart): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "file":
      return fileMarker("").text;
    case "media":
      return MEDIA_TEXTS[part.modality];
    case "image":
    case "audio":
      return MEDIA_TEXTS[part.type];
    default:
      return unreachable(part);
  }
}

export function hasFile({ content }: InputMessage): boolean {
  return content.some(({ type }) => type === "file");
}

/** Whether a message holds images or audio, accepted already or not. */
export function hasMedia({ content }: InputMessage): boolean {
  return content.some(({ type }) => type === "media" || type === "image" || type === "audio");
}
