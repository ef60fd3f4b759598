// Bodies of real clients without what is their makers': prompts and descriptions become text of the same role, and what
// names a machine or a person goes. Structure, names and schemas stay, which is what a server can stumble over.

/** Longest text that is kept as it is. */
const TEXT_CHARS_MAX = 48;
const PROSE = new Set([
  "description",
  "text",
  "content",
  "instructions",
  "system",
  "title",
  "pattern",
  "examples",
]);
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

export function redacted(value: unknown, key = ""): unknown {
  if (typeof value === "string") return redactedText(value, key);
  if (Array.isArray(value)) return value.map((item) => redacted(item, key));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, redacted(inner, name)]));
}

function redactedText(text: string, key: string): string {
  const isProse = PROSE.has(key) && text.length > TEXT_CHARS_MAX;
  const isLong = text.length > 4 * TEXT_CHARS_MAX;
  if (isProse || isLong || /[/\\]/.test(text.replace(/^\w+\/[\w.+-]+$/, "")))
    return `${text.length} characters`;
  return text.replaceAll(UUID, "00000000-0000-4000-8000-000000000000");
}
