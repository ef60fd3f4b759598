// Text of bytes of unknown encoding. Pure; part of the page and of the worker that reads documents.

/** Text of bytes: UTF-8, UTF-16 with its mark, the encoding that HTML names, else that of Western Windows. */
export function decodedText(bytes: Uint8Array): string {
  const head = new TextDecoder("latin1").decode(bytes.slice(0, HEAD_BYTES));
  const named = /<meta[^>]+charset=["']?\s*(?<label>[\w-]+)/i.exec(head)?.groups?.["label"];
  for (const label of [markOf(bytes), "utf-8", named]) {
    try {
      if (label !== undefined) return new TextDecoder(label, { fatal: true }).decode(bytes);
    } catch {
      // another encoding
    }
  }
  return new TextDecoder("windows-1252").decode(bytes);
}

/** Part of a page in which its encoding must be named, bytes. */
const HEAD_BYTES = 1024;

function markOf([first, second]: Uint8Array): string | undefined {
  if (first === 0xff && second === 0xfe) return "utf-16le";
  return first === 0xfe && second === 0xff ? "utf-16be" : undefined;
}
