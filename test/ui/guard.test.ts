// What the page's own code cannot draw is said where it would be; the rest of the page goes on.

import { expect, test } from "bun:test";
import { describeInBrowser, say, visit } from "../helpers/browser.ts";
import type { AnswerEvent } from "../../src/core/agent.ts";
import { ACCEPTED, end, FINISH, text } from "../helpers/run-events.ts";
import { scriptedUi } from "../helpers/scripted-ui.ts";

const SLOW_MS = 60_000;

const answering = (words: string) =>
  async function* (): AsyncGenerator<AnswerEvent> {
    yield ACCEPTED;
    yield text(words);
    yield end();
    yield FINISH;
  };

describeInBrowser("what cannot be drawn", () => {
  const ui = scriptedUi();

  test(
    "leaves the rest of the page, after a reload, too",
    async () => {
      ui.route("/v1/usage", () => Response.json({ data: null, total: null }));
      ui.play(answering("Hello"));
      const { page } = await visit(ui.url());
      await page.getByRole("link", { name: "Usage" }).click();
      await page.getByText("This part cannot be shown").waitFor();
      await page.reload();
      await page.getByText("This part cannot be shown").waitFor();
      await page.getByRole("button", { name: "New conversation" }).click();
      await say(page, "Hi");
    },
    SLOW_MS,
  );

  test(
    "answers that repeat a quote or an item without end are shown",
    async () => {
      const { page, troubles } = await visit(ui.url());
      for (const piece of [">", "1. "]) {
        ui.play(answering(`${piece.repeat(6000)}end`));
        await say(page, "Go on");
      }
      expect(await page.locator(".answer .markdown", { hasText: /end$/ }).count()).toBe(2);
      expect(troubles).toEqual([]);
    },
    SLOW_MS,
  );
});
