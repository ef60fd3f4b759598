// What may reach a terminal, and how it looks there.

/** Select-graphic-rendition codes by what they are used for. */
const CODES = {
  bold: "1",
  dim: "2",
  italic: "3",
  underline: "4",
  strike: "9",
  heading: "1;36",
  code: "36",
  warning: "33",
  failure: "31",
} as const;

export type Look = keyof typeof CODES;

const PLAIN = "\u001b[0m";

/** Starts a look, on top of those that hold already. */
export function begin(look: Look): string {
  return `\u001b[${CODES[look]}m`;
}

/** Ends all looks. */
export function endAll(): string {
  return PLAIN;
}

/** Asks the terminal to put a text into its clipboard (OSC 52); also over ssh. */
export function toClipboard(text: string): string {
  return `\u001b]52;c;${Buffer.from(text).toString("base64")}\u0007`;
}

/** Puts looks on a text, or leaves it as it is. */
export type Paint = (look: Look, text: string) => string;

/** Colours where the terminal may have them. */
export function painter(colors: boolean): Paint {
  return (look, text) => (colors && text !== "" ? begin(look) + text + PLAIN : text);
}

/** Every control character but newline and tab, and the marks that turn the direction of writing around. */
const STEERING = /[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/gu;

/** A text that cannot steer the terminal, whoever wrote it. */
export function harmless(text: string): string {
  return text.replace(STEERING, "");
}

/** Characters that show nothing, or reorder what is shown: controls, format characters, fillers. */
const UNSEEN = /[^\P{C}\n\t]|[\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** A text that is about to be approved: what a reader would not see stands there by its number. */
export function revealed(text: string): string {
  return text.replace(UNSEEN, (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase();
    return `⟨U+${code.padStart(4, "0")}⟩`;
  });
}

/** The first lines of a text, and how many more there are. */
export function firstLines(text: string, max: number): readonly string[] {
  const lines = text.trimEnd().split("\n");
  if (lines.length <= max) return lines;
  return [...lines.slice(0, max), `… ${lines.length - max} more lines`];
}
