// What a long answer costs a dialect: characters that it serializes, and joins of texts.

import { spyOn } from "bun:test";
import { answer } from "./run-events.ts";

/** Pieces of a long answer, 3 characters each. */
export const PIECES = Array.from({ length: 20_000 }, (_, index) => `w${index % 10} `);
export const LONG = answer(...PIECES);

/** Characters of JSON that an action makes. */
export function serializedBy(action: () => void): number {
  let length = 0;
  const original = JSON.stringify;
  const spy = spyOn(JSON, "stringify").mockImplementation((value: unknown) => {
    const json = original(value);
    length += json.length;
    return json;
  });
  try {
    action();
  } finally {
    spy.mockRestore();
  }
  return length;
}

/** Joins of arrays during an action. */
export function joinsOf(action: () => void): number {
  const spy = spyOn(Array.prototype, "join");
  try {
    action();
    return spy.mock.calls.length;
  } finally {
    spy.mockRestore();
  }
}
