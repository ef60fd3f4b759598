/** States what must hold unless the program itself is wrong. Never for user input. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`assertion failed: ${message}`);
}

/** Ends a switch over a union: adding a member makes this a type error where it is not handled. */
export function unreachable(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`);
}
