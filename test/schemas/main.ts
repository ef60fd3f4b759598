// `npm run test:schemas`: random answers under the grammars of real-looking tool lists, through every shipped chat template, judged
// by ajv. Random weights would do the same: this says what answers may be, not what a family's models make of it.
//
//   bun test/schemas/main.ts [--seeds N]

import { CALL_ROWS, type CallRow, TemplateUnderTest } from "../helpers/call-suite.ts";
import { grammarEngine, tinyVocabulary } from "../helpers/grammar.ts";
import { tinyBackend } from "../helpers/native.ts";
import { chatTemplates } from "../helpers/templates.ts";
import { toolLists } from "../helpers/tool-lists.ts";
import { runSuite } from "./suite.ts";

/** What came of the answers of one kind. */
interface Tally {
  answers: number;
  invalid: number;
  /** Not ended within the walk's bound. */
  cut: number;
  /** Strict schemas that the format cannot express. */
  refused: number;
}

/** A refusal of what strict demands, and not one by the template. */
function isUnsayable(verdict: string): boolean {
  return verdict.startsWith("refused") && !verdict.includes("template rejects");
}

const at = process.argv.indexOf("--seeds");
const seeds = at < 0 ? 1 : Number(process.argv[at + 1]);
const vocabulary = tinyVocabulary();
const grammars = grammarEngine(vocabulary);
const suite = runSuite(grammars, vocabulary, 10 * seeds, (line) => console.log(line.slice(0, 300)));
console.log("| JSON-Schema-Test-Suite | |\n|---|---|");
for (const [what, count] of Object.entries(suite)) console.log(`| ${what} | ${count} |`);

const templates = chatTemplates();
if (templates.type === "missing") {
  console.warn(`Skipped: the chat templates of model families could not be had (${templates.reason}).`);
  process.exit(0);
}

const backend = await tinyBackend({ contextLen: 512 });
const lists = toolLists(false);
const tallies = new Map<CallRow, Tally>(
  CALL_ROWS.map((row) => [row, { answers: 0, invalid: 0, cut: 0, refused: 0 }]),
);
const whole = new Map<CallRow, number>(CALL_ROWS.map((row) => [row, 0]));
const sources = [...templates.sources].sort(([a], [b]) => a.localeCompare(b));
for (const [index, [name, source]] of sources.entries()) {
  const template = new TemplateUnderTest({ backend, grammars, vocabulary }, source);
  for (const [place, row] of CALL_ROWS.entries()) {
    const tally = tallies.get(row);
    if (tally === undefined) continue;
    let invalid = 0;
    for (let i = 0; i < 6 * seeds; i++) {
      const list = lists[(index * 36 + place * 6 + i) % lists.length] ?? [];
      const verdict = template.verdict(list, row, i + 1);
      tally.answers++;
      if (verdict === "cut") tally.cut++;
      else if (row === "strict" && isUnsayable(verdict)) tally.refused++;
      else if (verdict !== "") {
        invalid++;
        console.log(`${name}, ${row}: ${verdict.slice(0, 300)}`);
      }
    }
    tally.invalid += invalid;
    if (invalid === 0) whole.set(row, (whole.get(row) ?? 0) + 1);
  }
  template.close();
}
grammars.close();
console.log(
  "| Row | Templates that hold | Answers | Invalid | Cut off | Refused (strict) |\n|---|---|---|---|---|---|",
);
for (const [row, { answers, invalid, cut, refused }] of tallies)
  console.log(
    `| ${row} | ${whole.get(row)} of ${sources.length} | ${answers} | ${invalid} | ${cut} | ${refused} |`,
  );
backend.close();
const wrong = [...tallies.values(), suite].reduce((sum, { invalid }) => sum + invalid, suite.passed);
process.exit(wrong > 0 ? 1 : 0);
