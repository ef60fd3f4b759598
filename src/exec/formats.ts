// Media types of files by format.

import { isUtf8 } from "node:buffer";

/** Text formats: valid UTF-8 content is shown as text. */
const TEXT = new Set(
  "csv tsv json geojson xml yaml yml toml md markdown html htm svg latex tex sql python py rust rs txt text log vega vega-lite".split(
    " ",
  ),
);

/** Extensions with another format name. */
const MIME_TYPES: Readonly<Record<string, string>> = {
  python: "text/x-python",
  py: "text/x-python",
  rust: "text/x-rust",
  rs: "text/x-rust",
  latex: "application/x-tex",
  vega: "application/json",
  "vega-lite": "application/json",
};

const UNKNOWN = "application/octet-stream";

/** Requested format or extension of the name, lower case without a dot; "" where both are missing. */
export function formatOf(name: string, asked: string | undefined): string {
  const wanted = asked?.trim().replace(/^\./, "").toLowerCase() ?? "";
  return wanted === "" ? (/[^/]\.([^./]+)$/.exec(name)?.[1]?.toLowerCase() ?? "") : wanted;
}

/** Content type. Content of a text format that is not valid UTF-8 loses the format's type. */
export function contentOf(
  format: string,
  content: Uint8Array,
): { readonly mimeType: string; readonly isText: boolean } {
  if (!TEXT.has(format)) return { mimeType: mimeType(format), isText: false };
  return isUtf8(content)
    ? { mimeType: mimeType(format), isText: true }
    : { mimeType: UNKNOWN, isText: false };
}

function mimeType(format: string): string {
  return MIME_TYPES[format] ?? Bun.file(`file.${format}`).type.split(";", 1)[0] ?? UNKNOWN;
}
