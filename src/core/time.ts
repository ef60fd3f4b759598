/** `2026-01-31T09:30:00Z`, of Unix seconds. */
export function rfc3339(unixSecs: number): string {
  return new Date(unixSecs * 1000).toISOString().replace(".000Z", "Z");
}

/** Milliseconds of a day or a moment, `2026-01-31` or `2026-01-31T09:30:00Z`; undefined where there is no such day: 30 February would be one of March. */
export function timeOf(text: string): number | undefined {
  const ms = Date.parse(text);
  return Number.isNaN(ms) || !new Date(ms).toISOString().startsWith(text.slice(0, 10)) ? undefined : ms;
}

/** Whether a text is a day, `2026-01-31`. */
export function isDay(text: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(text) && timeOf(text) !== undefined;
}
