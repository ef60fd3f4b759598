/** Message of whatever was thrown, to complete a sentence of an error or a log line. */
export function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
