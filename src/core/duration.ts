// Durations as Ollama's clients write them: seconds, or a Go duration such as `1h30m`. Negative: no limit.

/** Units of Go durations, in milliseconds. */
const UNITS: Readonly<Record<string, number>> = {
  h: 3_600_000,
  m: 60_000,
  s: 1000,
  ms: 1,
  us: 1e-3,
  µs: 1e-3,
  ns: 1e-6,
};
const PART = /(\d+(?:\.\d*)?|\.\d+)(h|ms|m|s|us|µs|ns)/g;
const DURATION = new RegExp(`^[+-]?(?:(?:${PART.source})+|0+)$`);

/** Milliseconds of a duration, Infinity of a negative one; undefined where it is none. */
export function durationMs(duration: number | string): number | undefined {
  const seconds = typeof duration === "number" ? duration : Number(duration);
  if (duration !== "" && Number.isFinite(seconds)) return seconds < 0 ? Infinity : seconds * 1000;
  const text = String(duration);
  if (!DURATION.test(text)) return undefined;
  if (text.startsWith("-")) return Infinity;
  let ms = 0;
  for (const [, count, unit = ""] of text.matchAll(PART)) ms += Number(count) * (UNITS[unit] ?? 0);
  return ms;
}
