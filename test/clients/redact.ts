// Bodies of real clients without what is their makers': prompts and descriptions become text of the same role, and what
// names a machine or a person goes. Structure, names and schemas stay, which is what a server can stumble over; of tools
// those that have something that none before them has.

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
  if (Array.isArray(value))
    return (key === "tools" ? unlike(value) : value).map((item) => redacted(item, key));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, redacted(inner, name)]));
}

/** Without those that are made of what stands in earlier ones: of twenty tools of an agent a handful remains. */
function unlike(tools: readonly unknown[]): readonly unknown[] {
  const known = new Set<string>();
  return tools.filter((tool) => {
    if (typeof tool !== "object") return true; // a name
    const news = [...partsOf(tool)].filter((part) => !known.has(part));
    for (const part of news) known.add(part);
    return news.length > 0;
  });
}

/** Paths of keys and what is there: the word of a `type`, else the kind of the value. Names of parameters are all alike. */
function* partsOf(value: unknown, path = ""): Generator<string> {
  if (typeof value !== "object" || value === null) {
    yield `${path}:${path.endsWith("/type") ? String(value) : typeof value}`;
    return;
  }
  const isNamed = path.endsWith("/properties");
  for (const [name, inner] of Object.entries(value))
    yield* partsOf(inner, `${path}/${isNamed || Array.isArray(value) ? "*" : name}`);
  if (Object.keys(value).length === 0) yield `${path}:empty`;
}

function redactedText(text: string, key: string): string {
  const isProse = PROSE.has(key) && text.length > TEXT_CHARS_MAX;
  const isLong = text.length > 4 * TEXT_CHARS_MAX;
  if (isProse || isLong || /[/\\]/.test(text.replace(/^\w+\/[\w.+-]+$/, "")))
    return `${text.length} characters`;
  return text.replaceAll(UUID, "00000000-0000-4000-8000-000000000000");
}
