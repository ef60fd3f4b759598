// Generated blocks inside documents that are otherwise written by hand.

const END = "<!-- end of generated text -->";

/** `text` with `content` in its block `name`. Throws when there is no such block. */
export function withBlock(text: string, name: string, content: string): string {
  const begin = `<!-- generated: ${name} (npm run generate) -->`;
  const from = text.indexOf(begin);
  const to = text.indexOf(END, from);
  if (from < 0 || to < 0) throw new Error(`there is no block "${begin}" … "${END}"`);
  return `${text.slice(0, from + begin.length)}\n${content.trim()}\n${text.slice(to)}`;
}
