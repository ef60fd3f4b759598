/** Why the program cannot start, as a sentence for the operator. */
export class StartError extends Error {
  override readonly name = "StartError";
}
