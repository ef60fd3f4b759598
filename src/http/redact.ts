// Takes secrets out of what is written for other eyes: values of fields and headers that hold them by name, and texts that look like
// keys. What people write besides stays as it is.

import { isObject } from "../core/json.ts";

/** What stands in a secret's place. */
const REDACTED = "[redacted]";

/** Names of fields with secrets; `max_tokens` is none. */
const SECRET_FIELD =
  /^(?:(?:proxy[-_])?authorization|(?:set[-_])?cookie|(?:.*[-_])?(?:api[-_]?)?key|.*(?:api[-_]?key|secret|password|passwd|credentials?)|(?:.*[-_])?(?:access|refresh|auth|bearer|id|session|hub)[-_]token|token|bearer)$/i;
/** Headers are secret already where their name sounds like it. */
const SECRET_HEADER = /auth|cookie|key|token|secret|session|password/i;
/** Keys by the form that services give them, credentials in addresses, and what follows `Bearer`. */
const SECRET_TEXT =
  /\b(?:sk|pk|rk|hf|gh[opsu]|github_pat|glpat|xox[abpr]|svc)[-_][\w-]{16,}|\bAKIA[A-Z0-9]{16}\b|(?<=\bBearer\s+)[\w.~+/-]{12,}=*|(?<=:\/\/)[^\s/:@]+:[^\s/@]+(?=@)/gi;
/** Longer texts are cut, characters: they are files and images. */
const TEXT_CHARS_MAX = 256 * 1024;
const DEPTH_MAX = 64;

/** A copy of JSON data without secrets; too long texts are cut, and say so. */
export function redacted(value: unknown, depth = 0): unknown {
  if (typeof value === "string") return redactedText(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth > DEPTH_MAX) return "[too deep]";
  if (Array.isArray(value)) return value.map((item: unknown) => redacted(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => {
      if (name === "headers" && isObject(item))
        return [name, Object.fromEntries(Object.keys(item).map((key) => [key, REDACTED]))];
      return [name, SECRET_FIELD.test(name) && isText(item) ? REDACTED : redacted(item, depth + 1)];
    }),
  );
}

/** Fields whose texts in the events of a stream are parts of one text. */
const PART_FIELD =
  /^(?:content|text|delta|reasoning(?:_content)?|thinking|refusal|partial_json|arguments|response)$/;

interface Part {
  readonly text: string;
  readonly put: (text: string) => void;
}

/** The data of a stream's events without secrets, also where one was written in parts. */
export function redactedEvents(events: readonly unknown[]): readonly unknown[] {
  const copies = events.map((event) => redacted(event));
  const texts = new Map<string, Part[]>();
  for (const copy of copies) collectParts(copy, "", texts);
  for (const parts of texts.values()) hideAcross(parts);
  return copies;
}

function collectParts(value: unknown, path: string, found: Map<string, Part[]>, depth = 0): void {
  if (typeof value !== "object" || value === null || depth > DEPTH_MAX) return;
  for (const [name, item] of Object.entries(value)) {
    const place = `${path}/${name}`;
    if (typeof item !== "string") collectParts(item, place, found, depth + 1);
    else if (PART_FIELD.test(name)) {
      const put = (text: string): void => void Object.assign(value, { [name]: text });
      const parts = found.get(place) ?? [];
      parts.push({ text: item, put });
      found.set(place, parts);
    }
  }
}

/** Puts the mark into the part that a key begins in, and takes the rest out of the others. */
function hideAcross(parts: readonly Part[]): void {
  const whole = parts.map(({ text }) => text).join("");
  const keys = [...whole.matchAll(SECRET_TEXT)].map(({ index, 0: key }) => ({
    from: index,
    to: index + key.length,
  }));
  if (keys.length === 0) return;
  let at = 0;
  for (const { text, put } of parts) {
    let [left, shown] = [at, ""];
    for (const { from, to } of keys) {
      if (to <= at || from >= at + text.length) continue;
      shown += whole.slice(left, Math.max(left, from)) + (from >= at ? REDACTED : "");
      left = Math.min(to, at + text.length);
    }
    at += text.length;
    put(shown + whole.slice(left, at));
  }
}

/** A text without what looks like a key. */
export function redactedText(text: string): string {
  const shown = text.length > TEXT_CHARS_MAX ? text.slice(0, TEXT_CHARS_MAX) : text;
  const left = text.length - shown.length;
  return shown.replaceAll(SECRET_TEXT, REDACTED) + (left > 0 ? `… (${left} more characters)` : "");
}

/** Headers of a request, those with secrets by name alone. */
export function redactedHeaders(headers: Headers): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...headers].map(([name, value]) => [name, SECRET_HEADER.test(name) ? REDACTED : redactedText(value)]),
  );
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}
