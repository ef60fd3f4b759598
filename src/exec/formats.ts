// What a file is, by its format.

/** Formats whose content is shown as text where it is valid UTF-8. */
const TEXT = new Set(
  "csv tsv json geojson xml yaml yml toml md markdown html htm svg latex tex sql python py rust rs txt text log vega vega-lite".split(
    " ",
  ),
);

/** Where a file name's extension means something else. */
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

/** Lower case, without a dot: what was asked for, or the name's extension; "" where there is neither. */
export function formatOf(name: string, asked: string | undefined): string {
  const wanted = asked?.trim().replace(/^\./, "").toLowerCase() ?? "";
  return wanted === "" ? (/[^/]\.([^./]+)$/.exec(name)?.[1]?.toLowerCase() ?? "") : wanted;
}

/** What the content is, as `Content-Type` says it. A text that is none is no longer of its format. */
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

function isUtf8(content: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(content);
    return true;
  } catch {
    return false;
  }
}
