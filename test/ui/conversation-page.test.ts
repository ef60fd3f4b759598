// What a person would lose: drafts, questions typed during an answer, questions of two tabs, texts cut without a word, a
// conversation after a question that was too long. In a browser, against a scripted server.

import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { append } from "../../ui/state/conversation.ts";
import { emptyConversation, exportText } from "../../ui/state/transfer.ts";
import { describeInBrowser, overLan, say, storedRecords, violations, visit } from "../helpers/browser.ts";
import { answer } from "../helpers/run-events.ts";
import { scriptedUi } from "../helpers/scripted-ui.ts";
import { until } from "../helpers/until.ts";

const SLOW_MS = 60_000;

const questions = (page: Page): Promise<readonly string[]> => page.locator(".bubble").allInnerTexts();
const typed = (page: Page): Promise<string> => page.getByLabel("Message").inputValue();
const shows = (page: Page, draft: string): Promise<boolean> =>
  until(`the composer has "${draft}"`, async () => (await typed(page)) === draft);

async function type(page: Page, text: string): Promise<void> {
  await page.getByLabel("Message").fill(text);
  await page.keyboard.press("Enter");
}

/** Imports a file of conversations with the button of the list. */
async function importFile(page: Page, text: string): Promise<void> {
  const chooser = page.waitForEvent("filechooser");
  await page.getByLabel("Import conversations").click();
  const file = { name: "export.json", mimeType: "application/json", buffer: Buffer.from(text) };
  await (await chooser).setFiles(file);
}

describeInBrowser("the conversation page", () => {
  const ui = scriptedUi();
  /** Texts of the user's messages of the last request. */
  let asked: readonly string[] = [];
  /** An answer that waits until the test lets it go on. */
  const slowAnswers = (): { next(): void; readonly begun: () => number } => {
    const waiting: (() => void)[] = [];
    let begun = 0;
    ui.play(async function* ({ run }) {
      if (run.prompt.type === "chat") asked = textsOf(run.prompt.messages);
      begun++;
      await new Promise<void>((resolve) => void waiting.push(resolve));
      yield* answer(`Answer ${begun}`);
    });
    return { next: () => waiting.shift()?.(), begun: () => begun };
  };
  const textsOf = (messages: readonly { role: string; content: readonly object[] }[]): readonly string[] =>
    messages
      .filter(({ role }) => role === "user")
      .map(({ content }) => content.map((part) => ("text" in part ? String(part.text) : "…")).join("|"));
  const quickAnswers = (): void =>
    ui.play(async function* ({ run }) {
      if (run.prompt.type === "chat") asked = textsOf(run.prompt.messages);
      yield* answer("Well said");
    });

  test(
    "keeps drafts of conversations over a change of page and a reload",
    async () => {
      quickAnswers();
      const { page, troubles } = await visit(ui.url());
      await say(page, "First");
      await page.getByLabel("Message").fill("Half a thought");
      await page.getByRole("button", { name: "New conversation" }).click();
      await shows(page, "");
      await page.getByLabel("Message").fill("Another");
      await page.getByRole("link", { name: "First" }).click();
      await shows(page, "Half a thought");
      await page.reload();
      await page.getByText("Well said").waitFor();
      await shows(page, "Half a thought");
      await page.getByRole("button", { name: "New conversation" }).click();
      await shows(page, "Another");
      await say(page, "Another one");
      await page.getByRole("button", { name: "New conversation" }).click();
      await shows(page, "");
      expect(troubles).toEqual([]);
    },
    SLOW_MS,
  );

  test(
    "keeps the draft of a new conversation of each tab, and that of a closed tab",
    async () => {
      quickAnswers();
      const { page } = await visit(ui.url());
      await page.getByLabel("Message").fill("From the first tab");
      const other = await page.context().newPage();
      await other.goto(`${ui.url()}/ui/`);
      expect(await typed(other)).toBe("");
      await other.getByLabel("Message").fill("From the second tab");
      await Promise.all([page.reload(), other.reload()]);
      expect([await typed(page), await typed(other)]).toEqual(["From the first tab", "From the second tab"]);
      await other.close({ runBeforeUnload: true });
      const third = await until("the closed tab has left its draft", async () => {
        const opened = await page.context().newPage();
        await opened.goto(`${ui.url()}/ui/`);
        if ((await typed(opened)) !== "") return opened;
        await opened.close();
        return undefined;
      });
      expect(await typed(third)).toBe("From the second tab");
      await page.reload();
      expect(await typed(page)).toBe("From the first tab");
    },
    SLOW_MS,
  );

  test(
    "keeps the files of drafts until they are sent or removed, on plain HTTP in a local network",
    async () => {
      quickAnswers();
      const { page, troubles } = await visit(overLan(ui.url()));
      const attach = async (name: string, buffer: Buffer): Promise<void> => {
        await page.getByLabel("Files to attach").setInputFiles({ name, mimeType: "text/plain", buffer });
        await page.getByLabel(`Remove ${name}`).waitFor();
      };
      const names = (): Promise<readonly string[]> => page.locator(".composer .chip-name").allInnerTexts();
      const storedFiles = (): Promise<number> => storedRecords(page, "svc-drafts", "drafts");
      const reload = async (): Promise<void> => {
        await page.reload();
        await page.getByLabel("Message").waitFor();
      };
      await say(page, "First");
      await attach("of-first.txt", Buffer.from("one"));
      await page.getByRole("button", { name: "New conversation" }).click();
      await attach("of-new.txt", Buffer.from("two"));
      await until("the drafts are stored", async () => (await storedFiles()) === 2);
      await reload();
      await page.getByLabel("Remove of-new.txt").waitFor();
      expect(await names()).toEqual(["of-new.txt"]);
      await attach("more.txt", Buffer.from("three"));
      const other = await page.context().newPage();
      await other.goto(`${overLan(ui.url())}/ui/`);
      await other.getByText("Start a conversation").waitFor();
      expect(await other.locator(".composer .chip-name").count()).toBe(0);
      await page.getByRole("link", { name: "First" }).click();
      await page.getByLabel("Remove of-first.txt").waitFor();
      expect(await names()).toEqual(["of-first.txt"]);
      await page.getByLabel("Remove of-first.txt").click();
      await until("its files are deleted", async () => (await storedFiles()) === 1);
      await page.getByRole("button", { name: "New conversation" }).click();
      expect(await names()).toEqual(["of-new.txt", "more.txt"]);
      await say(page, "Both");
      expect(asked[0]).toContain("two");
      expect(asked[0]).toContain("three");
      await until("the files of the question are deleted", async () => (await storedFiles()) === 0);
      await reload();
      expect(await names()).toEqual([]);
      await page.evaluate(
        () =>
          new Promise<void>((resolve) => {
            const opening = indexedDB.open("svc-drafts");
            opening.onsuccess = () => {
              const writing = opening.result.transaction("drafts", "readwrite");
              for (let i = 0; i < 25; i++) {
                const changed = Date.now() - (i < 3 ? 31 * 86_400_000 : 1000 * i);
                writing.objectStore("drafts").put({ id: `other${i}`, changed, bytes: 1, attachments: [] });
              }
              writing.oncomplete = () => (opening.result.close(), resolve());
            };
          }),
      );
      await attach("last.txt", Buffer.from("four"));
      await until("old drafts make room", async () => (await storedFiles()) === 20);
      expect(troubles).toEqual([]);
    },
    SLOW_MS,
  );

  test(
    "keeps a question that was asked just before a reload",
    async () => {
      const answers = slowAnswers();
      const { page } = await visit(ui.url());
      await type(page, "One");
      await until("the first question is asked", () => answers.begun() === 1);
      answers.next();
      await page.getByLabel("Regenerate answer").waitFor();
      await type(page, "Two");
      await page.reload();
      await page.getByText("Two", { exact: true }).waitFor();
      expect(await questions(page)).toEqual(["One", "Two"]);
    },
    SLOW_MS,
  );

  test(
    "asks what was typed during an answer when it is complete",
    async () => {
      const answers = slowAnswers();
      const { page } = await visit(ui.url());
      await type(page, "One");
      await page.getByText("Waiting for the model").waitFor();
      await type(page, "Two");
      await type(page, "and three");
      expect(await page.locator(".queued-text").innerText()).toContain("Two");
      expect(await questions(page)).toEqual(["One"]);
      answers.next();
      await until("the second question is asked", () => answers.begun() === 2);
      expect(asked).toEqual(["One", "Two\n\nand three"]);
      await type(page, "Four");
      await page.getByLabel("Take back the next question").click();
      await until("it is back in the composer", async () => (await typed(page)) === "Four");
      await page.keyboard.press("Enter");
      await page.getByLabel("Stop").click();
      await page.getByText("Stopped.").waitFor();
      expect(await typed(page)).toBe("Four");
      expect(answers.begun()).toBe(2);
    },
    SLOW_MS,
  );

  test(
    "keeps the questions of two tabs that ask at the same time",
    async () => {
      quickAnswers();
      const { page } = await visit(ui.url());
      await say(page, "Before");
      const other = await page.context().newPage();
      await other.goto(page.url());
      await other.getByText("Well said").waitFor();
      const answers = slowAnswers();
      await type(page, "Of the first tab");
      await type(other, "Of the second tab");
      const stops = async (): Promise<number> =>
        (await page.getByLabel("Stop").count()) + (await other.getByLabel("Stop").count());
      // A tab that has seen the other's answer begin asks its question after it.
      await until("both are answered", async () => {
        answers.next();
        return answers.begun() === 2 && (await stops()) === 0;
      });
      for (const tab of [page, other]) {
        await tab.reload();
        await tab.getByText("Well said").first().waitFor();
        const shown = await questions(tab);
        // One below the other, if a tab heard of the other's question first; else beside each other.
        const versions = tab.getByLabel(/^(Previous|Next) version$/).and(tab.locator(":enabled"));
        if ((await versions.count()) > 0) await versions.first().click();
        const seen = [...shown, ...(await questions(tab))];
        expect(seen).toContain("Of the first tab");
        expect(seen).toContain("Of the second tab");
      }
    },
    SLOW_MS,
  );

  test(
    "finds conversations by what was said in them",
    async () => {
      quickAnswers();
      const { page } = await visit(ui.url());
      await say(page, "About whales");
      await page.getByRole("button", { name: "New conversation" }).click();
      await say(page, "About sparrows");
      await say(page, "And do whales sing?");
      await page.getByLabel("Search conversations").fill("WHALES sing");
      await page.getByText("And do whales sing?").first().waitFor();
      await until("one is found", async () => (await page.locator(".item").count()) === 1);
      expect(await page.locator(".item .snippet").innerText()).toBe("And do whales sing?");
      await say(page, `The end.${"\nMore.".repeat(80)}`);
      const question = page.locator(".question").filter({ hasText: "And do whales sing?" });
      const isSeen = () => question.evaluate((node) => node.getBoundingClientRect().top > 0);
      await until("it is out of view", async () => !(await isSeen()));
      await page.locator(".item a").click();
      await until("it is scrolled to", isSeen);
      const marked = () => page.evaluate(() => CSS.highlights.get("found")?.size ?? 0);
      await until("it is marked", async () => (await marked()) === 1);
      await page.getByText("message 1 of 1").waitFor();
      expect(await violations(page)).toEqual([]);
      await page.getByLabel("Find in this conversation").fill("about");
      await page.getByText("message 1 of 1").waitFor();
      await page.getByLabel("Find in this conversation").fill("e");
      await page.keyboard.press("Enter");
      await page.getByText(/^message 1 of [4-6]$/).waitFor();
      await page.keyboard.press("Escape");
      await until("nothing is marked", async () => (await marked()) === 0);
      await page.keyboard.press("Control+f");
      await page.locator("#find:focus").waitFor();
      await page.getByLabel("Search conversations").fill("nowhere");
      await page.getByText("No matching conversations.").waitFor();
    },
    SLOW_MS,
  );

  test(
    "goes on after a question that was too long, without it",
    async () => {
      const message = "The prompt has 9000 tokens, and the context 4096.";
      const refuse = (): void =>
        ui.play(async function* () {
          yield { type: "error", error: { code: "context_length_exceeded", message } };
        });
      refuse();
      const { page } = await visit(ui.url());
      await say(page, "Very long");
      expect(await page.getByRole("alert").innerText()).toContain(
        "Later questions are sent without this one",
      );
      quickAnswers();
      await say(page, "Short");
      expect(asked).toEqual(["Short"]);
      refuse();
      await say(page, "Long again");
      quickAnswers();
      await page.getByRole("button", { name: "Leave out the oldest and try again" }).last().click();
      await until("it is asked without the others", () => asked.join() === "Long again");
      await page.getByText("The model does not get the messages above.").waitFor();
    },
    SLOW_MS,
  );

  test(
    "sends texts whole, and says how much of each the model gets",
    async () => {
      ui.route("/v1/models", () =>
        Response.json({ data: [{ id: "m", status: "loaded", context_length: 4000, modalities: [] }] }),
      );
      quickAnswers();
      const { page } = await visit(ui.url());
      const text = `${"words ".repeat(900)}the end`;
      const files = page.getByLabel("Files to attach");
      const file = (name: string, content: string) => ({
        name,
        mimeType: "text/plain",
        buffer: Buffer.from(content),
      });
      await files.setInputFiles([file("a.txt", text)]);
      await page.getByText("5,407 characters").waitFor();
      await say(page, "Read it");
      expect(asked[0]).toContain("the end");
      await page.getByRole("button", { name: "New conversation" }).click();
      await files.setInputFiles([file("a.txt", text)]);
      await files.setInputFiles([file("b.txt", text)]);
      await page
        .getByText("5,407 characters, large: the passages that suit the question are sent")
        .first()
        .waitFor();
      await files.setInputFiles([{ name: "c.bin", mimeType: "", buffer: Buffer.from([255, 0]) }]);
      await page.getByText("only its name is sent").waitFor();
      expect(await violations(page)).toEqual([]);
      await say(page, "Read");
      expect(asked[0]).toContain("of its 4 passages, by relevance");
      ui.route("/v1/models", () =>
        Response.json({ data: [{ id: "m", status: "loaded", context_length: 21 }] }),
      );
      await files.setInputFiles([file("d.txt", "d")]); // asks for the models again
      await page.getByLabel("Context used").waitFor();
      expect(await page.locator(".context-meter").innerText()).toContain(
        "97 % of the context used (20 of 21 tokens)",
      );
    },
    SLOW_MS,
  );

  test(
    "renders a long conversation from its end, and its beginning when it is scrolled to",
    async () => {
      const { page } = await visit(ui.url());
      let long = emptyConversation("long", 1);
      for (let i = 0; i < 150; i++) {
        const [q, a] = [`q${i}`, `a${i}`];
        const parts = [{ type: "text" as const, text: `Answer ${i}. ${"Words. ".repeat(100)}` }];
        long = append(long, {
          id: q,
          parent: long.leaf,
          role: "user",
          text: `Question ${i}`,
          attachments: [],
        });
        long = append(long, { id: a, parent: q, role: "assistant", model: "m", parts, state: "done" });
      }
      await importFile(page, exportText([long]));
      await page.getByRole("link", { name: "Question 0" }).click();
      await page.getByText("Question 149", { exact: true }).waitFor();
      expect((await questions(page)).length).toBeLessThan(60);
      await page.getByRole("button", { name: /Show \d+ earlier messages/ }).waitFor({ state: "attached" });
      for (let i = 0; i < 40 && (await page.locator(".earlier").count()) > 0; i++) {
        await page.locator(".thread").evaluate((box) => (box.scrollTop = 0));
        await page.waitForTimeout(50);
      }
      await page.getByText("Question 0", { exact: true }).last().waitFor();
      expect(await questions(page)).toHaveLength(150);
      await page.getByLabel("Scroll to the end").click();
      await until("the beginning is not rendered", async () => (await questions(page)).length < 60);
      await page.getByText("Question 149", { exact: true }).waitFor();
      expect(
        await page.locator(".thread").evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight),
      ).toBeLessThan(5);
    },
    SLOW_MS,
  );
});
