// Table-driven tests of validation rules: a body and the expected error.

import { expect, test } from "bun:test";
import { ServiceError } from "../../src/core/error.ts";

export type Body = Record<string, unknown>;
/** Request parser of a dialect. */
type Parse = (body: Body) => unknown;

/** [body, code, param, substrings of the message] */
export type Rule = readonly [Body, string, string | undefined, ...string[]];

/** The ServiceError of an invalid body. */
export function refusalOf(parse: Parse, body: Body): ServiceError {
  try {
    parse(body);
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
  throw new Error("the body was accepted");
}

/** Declares one test per rule. */
export function testRules(parse: Parse, rules: readonly Rule[]): void {
  test.each(rules.map((rule) => [rule[2] ?? "body", rule] as const))("%s", (_, rule) => {
    const [body, code, param, ...words] = rule;
    const error = refusalOf(parse, body);
    expect<object>({ code: error.code, param: error.param }).toEqual({ code, param });
    if (param !== undefined) expect(error.message).toContain(param);
    for (const word of words) expect(error.message).toContain(word);
    expect(error.message.length).toBeLessThan(250);
  });
}
