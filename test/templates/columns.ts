// Columns of the table of chat templates in docs/templates.md. Further ones are rows of COLUMNS.

import { ServiceError } from "../../src/core/error.ts";
import { renderIndependently } from "../helpers/independent-renderer.ts";
import type { Asked, TemplateBench } from "../helpers/template-bench.ts";
import { HARD_CASES, PLAIN_CASES, says, SIMPLE, type TemplateCase } from "../helpers/template-cases.ts";
import { CALL_ROWS, type SuiteTools, TemplateUnderTest } from "../helpers/call-suite.ts";
import { toolLists } from "../helpers/tool-lists.ts";
import { EDGE, isBeyondRenderer } from "./explained.ts";

/** What cells are made from. */
export interface TableContext {
  readonly bench: TemplateBench;
  /** The same templates, left to decide whether to think. */
  undecided(): TemplateBench;
  readonly sources: ReadonlyMap<string, string>;
  /** Grammars of calls, over the built-in model's vocabulary. */
  readonly suite: SuiteTools;
}

export interface Column {
  readonly title: string;
  /** What its cells say, for the reader of the table. */
  readonly meaning: string;
  /** The usual cell, which the table leaves empty. */
  readonly usual: string;
  cell(context: TableContext, template: string): string;
}

/** Tokens that tell no turn from another. */
const NO_TURNS: ReadonlySet<string> = new Set([EDGE.bos, "<s>", "</s>", "<think>"]);

/** Whether the markup of a template is tokens of its models, as far as its looks tell. */
export function hasTokenMarkup(bench: TemplateBench, template: string): boolean {
  const words = bench.markup(bench.render(template, SIMPLE).tokens);
  return words.some((word) => !NO_TURNS.has(word));
}

type Outcome = "as is" | "normalized" | "partly" | "refused";

export const isComplete = (text: string, { words }: TemplateCase): boolean =>
  words.every((word) => text.includes(word));

/** What becomes of a conversation. */
function outcome({ bench, sources }: TableContext, template: string, asked: TemplateCase): Outcome {
  const other = renderIndependently(sources.get(template) ?? "", asked, EDGE);
  const cannot = "refusal" in other && isBeyondRenderer(other.refusal);
  try {
    const { text } = bench.render(template, asked);
    if (!isComplete(text, asked)) return "partly";
    return cannot || ("text" in other && isComplete(other.text, asked)) ? "as is" : "normalized";
  } catch (error) {
    if (error instanceof ServiceError) return "refused";
    throw error;
  }
}

function historyColumn(title: string, cases: readonly string[], meaning: string): Column {
  const chosen = [...PLAIN_CASES, ...HARD_CASES].filter(({ name }) => cases.includes(name));
  return {
    title,
    meaning,
    usual: "as is",
    cell: (context, template) => {
      const outcomes = [...new Set(chosen.map((asked) => outcome(context, template, asked)))].toSorted();
      return outcomes.join() === "as is,normalized" ? "some" : outcomes.join(", ");
    },
  };
}

const QUESTION: Asked = { messages: [says("user", "Hello")] };

export const COLUMNS: readonly Column[] = [
  {
    title: "Text",
    meaning:
      "`plain`: the markup is plain text, which content can contain. Usual: content cannot become markup.",
    usual: "protected",
    cell: ({ bench }, template) => (hasTokenMarkup(bench, template) ? "protected" : "plain"),
  },
  {
    title: "Prompts",
    meaning:
      "Of nine common conversations those whose prompt equals that of an independent renderer (npm `@huggingface/jinja`). The others cannot be rendered there, are normalized, or are explained in `test/templates/explained.ts`. Usual: 9.",
    usual: "9",
    cell: ({ bench, sources }, template) => {
      const same = PLAIN_CASES.filter((asked) => {
        const other = renderIndependently(sources.get(template) ?? "", asked, EDGE);
        return "text" in other && other.text === bench.render(template, asked).text;
      });
      return String(same.length);
    },
  },
  historyColumn("Calls", ["tool result", "after a tool result"], "Earlier calls and their results."),
  historyColumn(
    "Parallel calls",
    ["parallel results", "results in another order"],
    "Two calls in one message, and their results.",
  ),
  historyColumn(
    "Text beside calls",
    ["text beside a call", "text beside a call of an earlier turn"],
    "Text in the message of a call.",
  ),
  historyColumn("Reasoning", ["reasoning history"], "An earlier answer with reasoning and text."),
  historyColumn(
    "Roles in a row",
    ["two questions in a row", "two answers in a row", "the assistant begins"],
    "Adjacent messages of one role, or the assistant first.",
  ),
  historyColumn(
    "System",
    ["system", "two system messages", "a system message later", "a system message alone"],
    "One system message, several, a later one, or a system message alone.",
  ),
  {
    title: "Thinking unset",
    meaning: "The template's default: `on` or `off`. Usual: no switch.",
    usual: "–",
    cell: ({ bench, undecided }, template) => {
      const [on, off] = [true, false].map(
        (enabled) => bench.render(template, { ...QUESTION, thinking: { enabled } }).text,
      );
      if (on === off) return "–";
      return undecided().render(template, { ...QUESTION, thinking: { enabled: true, unsaid: true } }).thinks
        ? "on"
        : "off";
    },
  },
  {
    title: "Guarantees",
    meaning:
      "Guarantees about calls and schemas (`docs/tools.md`) that did not hold in 8 random answers each. Usual: all held. `npm run test:schemas` tests more.",
    usual: "all",
    cell: ({ sources, suite }, template) => {
      const opened = new TemplateUnderTest(suite, sources.get(template) ?? "");
      const lists = toolLists(false);
      const place = [...sources.keys()].indexOf(template);
      const broken = CALL_ROWS.filter((row, column) =>
        Array.from({ length: 8 }, (_, seed) => {
          const list = lists[(place * 31 + column * 8 + seed) % lists.length] ?? [];
          return opened.verdict(list, row, seed + 1);
        }).some((verdict) => !["", "cut"].includes(verdict) && !verdict.startsWith("refused")),
      );
      opened.close();
      return broken.length === 0 ? "all" : `not ${broken.join(", ")}`;
    },
  },
];
