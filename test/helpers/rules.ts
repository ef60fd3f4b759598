// Validation rules as tables: a body, and what its refusal says.

import { expect, test } from "bun:test";
import { ServiceError } from "../../src/core/error.ts";

export type Body = Record<string, unknown>;
/** Reads a body of some dialect. */
type Parse = (body: Body) => unknown;

/** [body, code, param, words that the message must contain] */
export type Rule = readonly [Body, string, string | undefined, ...string[]];

/** The ServiceError with which a body is refused. */
export function refusalOf(parse: Parse, body: Body): ServiceError {
  try {
    parse(body);
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
  throw new Error("the body was accepted");
}

/** Declares one test a rule. */
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
