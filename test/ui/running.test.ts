// Answers that outlive a reload, a connection, a tab and, honestly told, not a server. In a browser, against a scripted server.

import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import type { AnswerEvent } from "../../src/core/agent.ts";
import { describeInBrowser, storedRecords, visit } from "../helpers/browser.ts";
import { ACCEPTED, answer, end, FINISH, text } from "../helpers/run-events.ts";
import { scriptedUi } from "../helpers/scripted-ui.ts";
import { until } from "../helpers/until.ts";

const SLOW_MS = 60_000;

async function ask(page: Page, question: string): Promise<void> {
  await page.getByLabel("Message").fill(question);
  await page.keyboard.press("Enter");
}

const answers = (page: Page): Promise<readonly string[]> =>
  page.locator(".answer > .markdown").allInnerTexts();

describeInBrowser("a running answer", () => {
  const ui = scriptedUi();
  /** An answer in two halves; the test lets the second one come. */
  const halves = () => {
    const waiting: (() => void)[] = [];
    const seen = { begun: 0, aborted: 0, questions: [] as string[] };
    ui.play(async function* ({ run }, signal) {
      const { begun } = seen;
      seen.begun++;
      if (run.prompt.type === "chat") seen.questions.push(JSON.stringify(run.prompt.messages.at(-1)));
      signal.addEventListener("abort", () => void seen.aborted++);
      yield ACCEPTED;
      yield text(`Half ${begun} `);
      await new Promise<void>((resolve) => {
        waiting.push(resolve);
        signal.addEventListener("abort", () => resolve());
      });
      if (signal.aborted) return;
      yield text("and whole");
      yield end();
      yield FINISH;
    });
    return { next: () => waiting.shift()?.(), seen };
  };

  test(
    "goes on where it is after a reload, with its figures and the question that waits",
    async () => {
      const { next, seen } = halves();
      const { page, troubles } = await visit(ui.url());
      await ask(page, "One");
      await page.getByText("Half 0").waitFor();
      await ask(page, "Two");
      await page.locator(".queued-text").waitFor();
      await until("it is stored", async () => (await storedRecords(page, "svc", "queued")) === 1);
      await page.reload();
      await page.getByText("Half 0").waitFor();
      expect(await page.getByLabel("Stop").count()).toBe(1);
      expect(await page.locator(".queued-text").innerText()).toBe("Two");
      next();
      await page.getByText("Half 0 and whole").waitFor();
      await page.locator(".figures").waitFor();
      await page.getByText("Half 1").waitFor(); // the question that waited was asked, once
      next();
      await page.getByText("Half 1 and whole").waitFor();
      expect(seen).toMatchObject({ begun: 2, aborted: 0 });
      await page.reload();
      await page.getByText("Half 1 and whole").waitFor();
      expect(await page.locator(".figures").count()).toBe(2);
      expect(troubles).toEqual([]);
    },
    SLOW_MS,
  );

  test(
    "is complete after a lost connection",
    async () => {
      const { next, seen } = halves();
      const { page } = await visit(ui.url());
      await ask(page, "One");
      await page.getByText("Half 0").waitFor();
      ui.cut();
      next();
      await page.getByText("Half 0 and whole").waitFor();
      await page.locator(".figures").waitFor();
      expect(await answers(page)).toEqual(["Half 0 and whole"]);
      expect(seen.begun).toBe(1);
    },
    SLOW_MS,
  );

  test(
    "is seen by a second tab, which can stop it",
    async () => {
      const { seen } = halves();
      const { page } = await visit(ui.url());
      await ask(page, "One");
      await page.getByText("Half 0").waitFor();
      const other = await page.context().newPage();
      await other.goto(page.url());
      await other.getByText("Half 0").waitFor();
      await other.getByLabel("Stop").click();
      for (const tab of [page, other]) await tab.getByText("Stopped.").waitFor();
      expect(seen).toMatchObject({ begun: 1, aborted: 1 });
    },
    SLOW_MS,
  );

  test(
    "goes on in a second tab when the first is closed, and its queued question is asked once",
    async () => {
      const { next, seen } = halves();
      const { page } = await visit(ui.url());
      await ask(page, "One");
      await page.getByText("Half 0").waitFor();
      await ask(page, "Two");
      const [second, third] = [await page.context().newPage(), await page.context().newPage()];
      for (const tab of [second, third]) {
        await tab.goto(page.url());
        await tab.getByText("Half 0").waitFor();
      }
      await page.close();
      next();
      for (const tab of [second, third]) await tab.getByText("Half 1").waitFor();
      next();
      for (const tab of [second, third]) await tab.getByText("Half 1 and whole").waitFor();
      expect(seen).toMatchObject({ begun: 2, aborted: 0 });
    },
    SLOW_MS,
  );

  test(
    "asks for approval in every tab, and takes the decision of any",
    async () => {
      const call = { round: 1, callId: "c", toolName: "svc_shell", arguments: "{}" };
      ui.play(async function* (): AsyncGenerator<AnswerEvent> {
        const decided = ui.decision("appr_1");
        yield ACCEPTED;
        yield { type: "tool_calling", ...call, data: { tool_type: "shell", commands: ["rm a"] } };
        yield {
          type: "approval_required",
          approvalId: "appr_1",
          sessionId: "s",
          round: 1,
          tool: {
            source: "built_in",
            kind: "shell",
            label: "Shell command",
            reach: { files: "only the working folder", network: "none" },
          },
          arguments: { commands: ["rm a"] },
        };
        yield text(` ${(await decided).decision}`);
        yield end();
        yield FINISH;
      });
      const { page } = await visit(ui.url());
      await ask(page, "Delete it");
      await page.getByLabel("Approval required").waitFor();
      const other = await page.context().newPage();
      await other.goto(page.url());
      expect(await other.getByLabel("Reach").innerText()).toContain("only the working folder");
      await other.getByRole("button", { name: "Deny" }).click();
      for (const tab of [page, other]) {
        await tab.getByText("deny", { exact: true }).waitFor();
        await tab.getByLabel("Approval required").waitFor({ state: "detached" });
      }
    },
    SLOW_MS,
  );

  test(
    "that a server lost by its restart keeps its text, says so, and can be continued",
    async () => {
      halves();
      const { page } = await visit(ui.url());
      await ask(page, "One");
      await page.getByText("Half 0").waitFor();
      await ui.restart();
      await page.getByText("The server no longer has the rest of this answer").waitFor();
      expect(await answers(page)).toEqual(["Half 0"]);
      let prefix: string | undefined;
      ui.play(async function* ({ run }) {
        if (run.prompt.type === "chat") prefix = run.prompt.answerPrefix;
        yield* answer("and the rest");
      });
      await page.getByRole("button", { name: "Continue the answer" }).click();
      await page.getByText("2/2").waitFor();
      await page.getByText("Half 0 and the rest").waitFor();
      expect(prefix).toBe("Half 0 ");
      await page.reload();
      await page.getByText("Half 0 and the rest").waitFor();
    },
    SLOW_MS,
  );
});
