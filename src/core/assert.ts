/** States what must hold unless the program itself is wrong. Never for user input. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`assertion failed: ${message}`);
}

/** An element that must exist: `list[index]` without the undefined of an index out of range. */
export function itemAt<T>(list: ArrayLike<T>, index: number): T {
  const item = list[index];
  if (item === undefined) throw new Error(`assertion failed: no element ${index} of ${list.length}`);
  return item;
}

/** Ends a switch over a union: adding a member makes this a type error where it is not handled. */
export function unreachable(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`);
}
