// Token bytes to text. A token may end within a UTF-8 character, which a later token completes.

const UTF8_LEAD = 0x80;

/** Cached texts of the tokens that are valid UTF-8 by themselves. Shared by all sequences. */
export class TokenTexts {
  private readonly known: (string | null | undefined)[] = []; // null: not valid UTF-8 by itself
  private readonly strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

  /**
   * Text of a token; null if its bytes are not valid UTF-8 by themselves. A control token has bytes for one reader and none for another:
   * those without are not cached.
   */
  get(token: number, bytes: Uint8Array): string | null {
    if (bytes.length === 0) return "";
    const cached = this.known[token];
    if (cached !== undefined) return cached;
    let text: string | null;
    try {
      text = this.strict.decode(bytes);
    } catch {
      text = null; // part of a character
    }
    this.known[token] = text;
    return text;
  }
}

/** Decoder of one sequence's bytes. Never splits a character; invalid bytes become U+FFFD. */
export class Detokenizer {
  private readonly decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  private readonly texts: TokenTexts;
  private open = false; // bytes of an unfinished character are in the decoder

  constructor(texts: TokenTexts) {
    this.texts = texts;
  }

  /** Whether bytes of an unfinished character are held. */
  get isOpen(): boolean {
    return this.open;
  }

  /** Text that a token completes; "" while a character is incomplete. */
  push(token: number, bytes: Uint8Array): string {
    if (!this.open) {
      const text = this.texts.get(token, bytes);
      if (text !== null) return text;
    }
    const text = this.decoder.decode(bytes, { stream: true });
    this.open = endsInsideCharacter(bytes) || (this.open && text === "");
    return text;
  }
}

/** Whether the bytes end within a character. */
function endsInsideCharacter(bytes: Uint8Array): boolean {
  for (let back = 1; back <= Math.min(4, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < UTF8_LEAD) return false;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 0;
    if (length > 0) return length > back;
  }
  return true;
}
