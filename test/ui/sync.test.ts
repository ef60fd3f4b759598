// Conversations that follow a person to another browser, merged where both have changed. Each visit is a browser of its own.

import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { SERVER } from "../../src/core/caller.ts";
import { historyStore } from "../../src/sessions/history.ts";
import { memoryState } from "../../src/state/memory.ts";
import { ownedState } from "../../src/state/owned.ts";
import { describeInBrowser, say, visit } from "../helpers/browser.ts";
import { answer } from "../helpers/run-events.ts";
import { scriptedUi } from "../helpers/scripted-ui.ts";
import { until } from "../helpers/until.ts";

const SLOW_MS = 90_000;

describeInBrowser("conversations on the server", () => {
  const histories = historyStore(ownedState(memoryState()));
  const history = histories(SERVER);
  const ui = scriptedUi({ history: histories });
  const said = (page: Page): Promise<readonly string[]> => page.locator(".bubble").allInnerTexts();
  const kept = async (text: string): Promise<boolean> => {
    for (const { id, isDeleted } of history.list())
      if (!isDeleted && (await history.get(id).content.text()).includes(text)) return true;
    return false;
  };

  test(
    "follow to another browser, keep what both have added, and are deleted in both",
    async () => {
      ui.play(async function* () {
        yield* answer("Well said");
      });
      const { page, troubles } = await visit(ui.url());
      await say(page, "From the desk");
      await until("the server has it", () => kept("Well said"));
      const other = await visit(ui.url());
      await other.page.getByRole("link", { name: "From the desk" }).click();
      await other.page.getByText("Well said").waitFor();
      await say(other.page, "From the sofa");
      await say(page, "From the desk again");
      await until("both are kept", async () => (await kept("From the sofa")) && kept("From the desk again"));
      for (const tab of [page, other.page]) {
        await tab.reload();
        await until("it has both", async () => {
          const versions = tab.getByLabel(/^(Previous|Next) version$/).and(tab.locator(":enabled"));
          const seen = [...(await said(tab))];
          if ((await versions.count()) > 0) await versions.first().click();
          seen.push(...(await said(tab)));
          return seen.includes("From the sofa") && seen.includes("From the desk again");
        });
      }
      await page.getByLabel("Options for From the desk").click();
      await page
        .getByRole("menuitem", { name: "Delete" })
        .or(page.getByRole("button", { name: "Delete" }))
        .first()
        .click();
      await until("the server knows", () => history.list().every(({ isDeleted }) => isDeleted));
      await other.page.reload();
      await other.page.getByText("No conversations yet.").waitFor();
      expect([...troubles, ...other.troubles]).toEqual([]);
    },
    SLOW_MS,
  );
});
