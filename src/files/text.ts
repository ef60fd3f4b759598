// Detects text and makes previews. Never splits a character.

/** Result of sniffing a file. */
export interface Sniffed {
  /** Valid UTF-8 without NUL. */
  readonly isText: boolean;
  /** Start of a text, without byte order mark. */
  readonly beginning: string;
  /** Whether the preview is the whole text. */
  readonly isWhole: boolean;
}

/** Maximum length of a preview; characters are code points. */
export type Extent = { readonly characters: number } | { readonly bytes: number };

/** Sniffs a file given as chunks. */
export function sniff(pieces: readonly Uint8Array[], extent: Extent): Sniffed {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const enough = 2 * ("characters" in extent ? extent.characters : extent.bytes); // UTF-16 units, with a margin
  let text = "";
  let units = 0;
  try {
    for (const piece of pieces) {
      const decoded = decoder.decode(piece, { stream: true });
      if (decoded.includes("\0")) return BINARY;
      units += decoded.length;
      if (text.length < enough) text += decoded.slice(0, enough);
    }
    decoder.decode(); // throws for an incomplete end
  } catch {
    return BINARY;
  }
  const beginning = cutText(text, extent);
  return { isText: true, beginning, isWhole: beginning.length === units };
}

const BINARY: Sniffed = { isText: false, beginning: "", isWhole: false };

/** Longest prefix of a text within an extent. */
export function cutText(text: string, extent: Extent): string {
  if ("characters" in extent) {
    return text.length <= extent.characters ? text : firstCharacters(text, extent.characters);
  }
  // The last code point may be incomplete; in stream mode the decoder holds it back.
  const bytes = new TextEncoder().encode(text).subarray(0, extent.bytes);
  return new TextDecoder().decode(bytes, { stream: true });
}

function firstCharacters(text: string, count: number): string {
  let units = 0;
  for (let seen = 0; seen < count && units < text.length; seen++) {
    units += (text.codePointAt(units) ?? 0) > 0xffff ? 2 : 1;
  }
  return text.slice(0, units);
}
