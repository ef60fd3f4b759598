// Breaks loops within a constrained answer: a small model that must write an argument may write one syllable until the cap, because
// nothing but its own choice ends a string. Once the last tokens are the same few over and over, the token that would go on is forbidden,
// once; the model ends the string instead, or writes something else. Numbers and lists of data may repeat themselves.

/** Longest repeated piece, tokens; copies and tokens that make a loop. */
const PERIOD_MAX = 16;
const COPIES = 8;
const TOKENS = 64;

/** The tokens of one answer. */
export class LoopBreaker {
  private readonly tokens: number[] = []; // the last ones, the newest last
  private readonly texts: Uint8Array[] = []; // their bytes
  private readonly same = new Uint32Array(PERIOD_MAX + 1); // by period: last tokens that equal the one a period before

  /** Adds a token of the answer. */
  add(token: number, bytes: Uint8Array): void {
    const { tokens, texts, same } = this;
    for (let period = 1; period <= PERIOD_MAX; period++)
      same[period] = tokens.at(-period) === token ? (same[period] ?? 0) + 1 : 0;
    tokens.push(token);
    texts.push(bytes);
    if (tokens.length > PERIOD_MAX) {
      tokens.shift();
      texts.shift();
    }
  }

  /** Forbids in a mask of allowed tokens the one that would continue a loop, unless it is the only one. */
  forbid(mask: Uint32Array): void {
    const period = this.same.findIndex(
      (count, length) => count + length >= Math.max(TOKENS, COPIES * length),
    );
    const next = period < 1 ? undefined : this.tokens.at(-period);
    if (next === undefined || isData(Buffer.concat(this.texts.slice(-period)).toString("latin1"))) return;
    const word = next >> 5;
    const rest = (mask[word] ?? 0) & ~(1 << (next & 31));
    if (rest !== 0 || mask.some((bits, at) => at !== word && bits !== 0)) mask[word] = rest;
  }
}

/** Whether a repeated piece may be data, such as zeros of a list: it has a quote, or commas between numbers. */
function isData(text: string): boolean {
  if (text.includes('"')) return true;
  return text.includes(",") && !/[a-z]/i.test(text.replaceAll(/true|false|null/g, ""));
}
