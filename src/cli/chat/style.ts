// ANSI styles, and forms of text for a terminal.

/** SGR codes by use. */
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

/** Starts a style, added to active ones. */
export function begin(look: Look): string {
  return `\u001b[${CODES[look]}m`;
}

/** Resets all styles. */
export function endAll(): string {
  return PLAIN;
}

/** Asks the terminal to put a text into its clipboard (OSC 52); also over ssh. */
export function toClipboard(text: string): string {
  return `\u001b]52;c;${Buffer.from(text).toString("base64")}\u0007`;
}

/** Styles a text, or returns it unchanged. */
export type Paint = (look: Look, text: string) => string;

/** A painter that styles only if `colors`. */
export function painter(colors: boolean): Paint {
  return (look, text) => (colors && text !== "" ? begin(look) + text + PLAIN : text);
}

/** The first lines of a text, and the number of the others. */
export function firstLines(text: string, max: number): readonly string[] {
  const lines = text.trimEnd().split("\n");
  if (lines.length <= max) return lines;
  return [...lines.slice(0, max), `… ${lines.length - max} more lines`];
}
