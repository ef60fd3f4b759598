// Values of JSON: what an object is, and a text that may be none.

/** An object of JSON. */
export type Json = Readonly<Record<string, unknown>>;

/** Whether a value is an object of JSON: neither null nor a list. */
export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value of a JSON text; undefined, or what is given for it, where it is none. */
export function jsonIn(text: string, other?: unknown): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return other;
  }
}
