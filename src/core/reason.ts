// What was thrown, in words and as a code.

/** Message of whatever was thrown, to complete a sentence of an error or a log line. */
export function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** Code of an error of the system or of SQLite, such as `ENOENT`; "" without one. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/** Whether there is no file; no folder either where one of its parents is a file. */
export function isMissing(error: unknown): boolean {
  return /^(?:ENOENT|ENOTDIR)$/.test(codeOf(error));
}

/** Whether a disk or a quota is full. */
export function isFull(error: unknown): boolean {
  return /^(?:ENOSPC|EDQUOT)$/.test(codeOf(error));
}
