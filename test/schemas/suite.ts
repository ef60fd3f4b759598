// The JSON-Schema-Test-Suite (npm json-schema-test-suite: draft 4): what its schemas let a model write, judged by ajv, and its
// own examples, judged by the grammars.

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { GrammarEngine } from "../../ffi/llama/grammar.ts";
import { ServiceError } from "../../src/core/error.ts";
import type { Matcher } from "../../src/worker/text/constraint-backend.ts";
import { validator } from "../helpers/ajv.ts";
import { compile, feedText, randomBelow, type TestVocabulary, walk } from "../helpers/grammar.ts";

/** A schema of the suite with its examples. */
interface Group {
  readonly description: string;
  readonly schema: Readonly<Record<string, unknown>>;
  readonly tests: readonly { readonly data: unknown; readonly valid: boolean }[];
}

/** What came of the whole suite. */
export interface SuiteTally {
  schemas: number;
  /** Schemas with a keyword that is named as not enforced, and schemas that are refused. */
  unenforced: number;
  refused: number;
  /** Random answers, those that ajv found invalid, and those that did not end. */
  answers: number;
  invalid: number;
  cut: number;
  /** The suite's invalid examples, and those of them that a grammar let pass. */
  wrongExamples: number;
  passed: number;
}

const FOLDER = join(
  dirname(fileURLToPath(import.meta.resolve("json-schema-test-suite/package.json"))),
  "tests/draft4",
);
/** Its bounds are booleans, which ajv does not read any more. */
const OLD_BOUNDS = /"exclusiveM(?:in|ax)imum":true/;

/** Runs the suite with so many random answers a schema. `report` gets a line for whatever is wrong. */
export function runSuite(
  grammars: GrammarEngine,
  vocabulary: TestVocabulary,
  answers: number,
  report: (line: string) => void,
): SuiteTally {
  const tally: SuiteTally = {
    schemas: 0,
    unenforced: 0,
    refused: 0,
    answers: 0,
    invalid: 0,
    cut: 0,
    wrongExamples: 0,
    passed: 0,
  };
  const files = readdirSync(FOLDER).filter((name) => name.endsWith(".json"));
  for (const file of files) {
    const groups = JSON.parse(readFileSync(join(FOLDER, file), "utf8")) as readonly Group[];
    for (const group of groups) judge(group, `${file}: ${group.description}`);
  }
  return tally;

  function judge({ schema, tests }: Group, name: string): void {
    tally.schemas++;
    const open = (): Matcher => compile(grammars, { type: "json_schema", schema, strict: false });
    let unenforced: boolean;
    try {
      const matcher = open();
      unenforced = matcher.unenforced.length > 0;
      matcher.free();
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      tally.refused++;
      return;
    }
    if (unenforced) {
      tally.unenforced++;
      return;
    }
    const wrongOf = OLD_BOUNDS.test(JSON.stringify(schema))
      ? (): string => ""
      : validator("", { $schema: "http://json-schema.org/draft-07/schema#", ...schema });
    for (let seed = 1; seed <= answers; seed++) {
      tally.answers++;
      const text = answer(open(), seed);
      const wrong = text === undefined ? "" : wrongOf(JSON.parse(text));
      if (text === undefined) tally.cut++;
      if (wrong === "") continue;
      tally.invalid++;
      report(`${name}: ${text}: ${wrong}`);
    }
    for (const { data, valid } of tests) {
      if (valid) continue; // valid ones may come in another order or spelling than a grammar has them in
      tally.wrongExamples++;
      const matcher = open();
      const isTaken = feedText(matcher, vocabulary, JSON.stringify(data)) !== "rejected" && matcher.mayEnd();
      matcher.free();
      if (!isTaken) continue;
      tally.passed++;
      report(`${name}: ${JSON.stringify(data)} passes`);
    }
  }

  function answer(matcher: Matcher, seed: number): string | undefined {
    try {
      return walk(matcher, vocabulary, randomBelow(seed)).text;
    } catch (error) {
      if (error instanceof Error && error.message === "the walk does not end") return undefined;
      throw error;
    }
  }
}
