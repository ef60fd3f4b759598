/** Why the program cannot start: a sentence for whoever started it. */
export class StartError extends Error {
  override readonly name = "StartError";
}

/** What went wrong, for a sentence that goes on with it. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
