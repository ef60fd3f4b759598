// Prompts of every chat template against those of an independent renderer, and conversations that templates refuse.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { describesTools, isGeneric } from "../../ffi/llama/generic-tools.ts";
import { renderIndependently } from "../helpers/independent-renderer.ts";
import { HARD_CASES, PLAIN_CASES, WEATHER } from "../helpers/template-cases.ts";
import { chatTemplates } from "../helpers/templates.ts";
import { isComplete } from "./columns.ts";
import { DESCRIBED, EDGE, EXPLAINED, GENERIC, isBeyondRenderer } from "./explained.ts";
import { document, tableContext } from "./table.ts";

/** Half a minute on an idle machine. */
const TABLE_MS_MAX = 900_000;

const found = chatTemplates();
const sources = found.type === "found" ? found.sources : new Map<string, string>();
const names = [...sources.keys()];
/** What takes longer: npm run test:templates. */
const IS_SLOW = process.env["SVC_SLOW_TESTS"] === "1";

if (found.type === "missing") {
  console.warn(`Skipped: the chat templates of model families could not be had (${found.reason}).`);
  test.skip(`prompts of chat templates: ${found.reason}`, () => {});
} else {
  describe("prompts", () => {
    let context: Awaited<ReturnType<typeof tableContext>>;
    beforeAll(async () => {
      context = await tableContext(sources);
    });
    afterAll(() => context.close());

    test.each(names)("%s: as the independent renderer writes them, or else explained", (name) => {
      const explained = EXPLAINED[name] ?? {};
      for (const asked of PLAIN_CASES) {
        const other = renderIndependently(sources.get(name) ?? "", asked, EDGE);
        const { text } = context.bench.render(name, asked);
        if ("refusal" in other) {
          // Its own limits, or a template that refuses what is normalized.
          if (!isBeyondRenderer(other.refusal))
            expect([asked.name, isComplete(text, asked)]).toEqual([asked.name, true]);
        } else if (isComplete(other.text, asked) && !describesTools(text)) {
          const same = explained[asked.name] === undefined;
          expect([asked.name, same ? text : text === other.text]).toEqual([
            asked.name,
            same ? other.text : false,
          ]);
        }
      }
    });

    test("templates that write no calls get the generic format, those that show no tools a description of them, and no others do", () => {
      const asked = PLAIN_CASES.find(({ name }) => name === "tools");
      const textOf = (name: string): string =>
        asked === undefined ? "" : context.bench.render(name, asked).text;
      expect(names.filter((name) => isGeneric(textOf(name)))).toEqual([...GENERIC]);
      const described = names.filter((name) => describesTools(textOf(name)) && !GENERIC.includes(name));
      expect(described).toEqual([...DESCRIBED]);
      for (const name of names)
        expect([name, textOf(name)]).toEqual([name, expect.stringContaining(WEATHER.description ?? "")]);
    });

    test.each(names)("%s: takes every conversation and leaves nothing out", (name) => {
      for (const asked of [...PLAIN_CASES, ...HARD_CASES]) {
        const { text } = context.bench.render(name, asked);
        for (const word of asked.words)
          expect([asked.name, text]).toEqual([asked.name, expect.stringContaining(word)]);
      }
    });

    test.skipIf(!IS_SLOW)(
      "the table in docs/templates.md is current (bun test/templates/table.ts)",
      () => {
        const { is, ought } = document(context);
        expect(is).toBe(ought);
      },
      TABLE_MS_MAX,
    );
  });
}
