// Shortens long texts. Output of tools keeps its beginning, which shows the action, and its end, which shows the result, with the
// number of omitted bytes between them.

/** Room that the word on what is gone takes at most. */
const NOTE_CHARS = 48;
/** Below it there is room for the beginning alone. */
const NOTE_WORTH_CHARS = 4 * NOTE_CHARS;

const NOTE = /\[… (\d+) bytes left out …\]/g;

/** The line that stands for what is gone. */
export function leftOut(bytes: number): string {
  return `\n[… ${bytes} bytes left out …]\n`;
}

/** A text of at most `charsMax` UTF-16 units. Text omitted by an earlier shortening is counted again. */
export function shorten(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  if (charsMax < NOTE_WORTH_CHARS) return beginning(text, charsMax);
  const room = charsMax - NOTE_CHARS;
  const head = beginning(text, Math.ceil(room / 2));
  const tail = ending(text, Math.floor(room / 2));
  const middle = text.slice(head.length, text.length - tail.length);
  const earlier = [...middle.matchAll(NOTE)].reduce((sum, [, bytes]) => sum + Number(bytes), 0);
  return head + leftOut(Buffer.byteLength(middle) + earlier) + tail;
}

/** The beginning of a text, with an ellipsis where it is cut. */
export function brief(text: string, charsMax: number): string {
  return text.length <= charsMax ? text : `${beginning(text, charsMax)}…`;
}

/** The first UTF-16 units of a text; half a surrogate pair is no character. */
export function beginning(text: string, chars: number): string {
  return text.slice(0, chars).replace(/[\uD800-\uDBFF]$/, "");
}

function ending(text: string, chars: number): string {
  return text.slice(text.length - chars).replace(/^[\uDC00-\uDFFF]/, "");
}
