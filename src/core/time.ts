/** `2026-01-31T09:30:00Z`, of Unix seconds. */
export function rfc3339(unixSecs: number): string {
  return new Date(unixSecs * 1000).toISOString().replace(".000Z", "Z");
}
