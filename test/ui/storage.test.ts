// Storage of conversations in the browser: data of earlier versions, only what changed is written, and a page on plain HTTP at a
// host name, which is no secure context.

import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { append, type Conversation } from "../../ui/state/conversation.ts";
import { emptyConversation } from "../../ui/state/transfer.ts";
import { describeInBrowser, overLan, say, visit } from "../helpers/browser.ts";
import { ACCEPTED, answer, text } from "../helpers/run-events.ts";
import { scriptedUi } from "../helpers/scripted-ui.ts";
import { until } from "../helpers/until.ts";

const SLOW_MS = 60_000;

const DATA = `data:text/plain;base64,${btoa("a,b\n".repeat(1000))}`;
const FILE = { name: "table.csv", mime: "text/csv", bytes: 4000, data: DATA };

/** A conversation as versions 1 and 2 stored it: with its messages, and without settings that came later. */
function older(id: string): Conversation {
  const start = emptyConversation(id, 1);
  const asked = append(start, {
    id: "q1",
    parent: null,
    role: "user",
    text: `Of ${id}`,
    attachments: [FILE],
  });
  const parts = [{ type: "text" as const, text: `Answer of ${id}` }];
  const one = append(asked, { id: "a1", parent: "q1", role: "assistant", model: "m", parts, state: "done" });
  const again = [{ type: "text" as const, text: `Second answer of ${id}` }];
  return append(one, {
    id: "a2",
    parent: "q1",
    role: "assistant",
    model: "m",
    parts: again,
    state: "running",
  });
}

/** Writes the database of an earlier version, before the page opens it. */
async function writeOlder(
  page: Page,
  version: number,
  conversations: readonly Conversation[],
): Promise<void> {
  await page.evaluate(
    ({ before, all }) =>
      new Promise<void>((resolve, reject) => {
        const opening = indexedDB.open("svc", before);
        opening.onupgradeneeded = () => {
          for (const store of ["summaries", "conversations"])
            opening.result.createObjectStore(store, { keyPath: "id" });
          if (before > 1) opening.result.createObjectStore("queued");
        };
        opening.onerror = () => reject(new Error("the database cannot be opened"));
        opening.onsuccess = () => {
          const db = opening.result;
          const writing = db.transaction(["summaries", "conversations"], "readwrite");
          for (const conversation of all) {
            const { id, title, updated } = conversation;
            writing.objectStore("summaries").put({ id, title, updated });
            writing.objectStore("conversations").put(conversation);
          }
          writing.oncomplete = () => {
            db.close();
            resolve();
          };
        };
      }),
    { before: version, all: conversations },
  );
}

/** Keys of the messages that are written from now on. */
async function watchWrites(page: Page): Promise<() => Promise<readonly string[]>> {
  await page.evaluate(() => {
    const seen: string[] = [];
    Object.assign(globalThis, { seen });
    const put = IDBObjectStore.prototype.put;
    IDBObjectStore.prototype.put = function (value: unknown, key?: IDBValidKey) {
      if (this.name === "messages") seen.push(JSON.stringify(key));
      return key === undefined ? put.call(this, value) : put.call(this, value, key);
    };
  });
  return () => page.evaluate(() => (globalThis as unknown as { seen: string[] }).seen);
}

describeInBrowser("stored conversations", () => {
  const ui = scriptedUi();
  const quickAnswers = (): void =>
    ui.play(async function* () {
      yield* answer("Well said");
    });

  test.each([1, 2])(
    "of version %d are there, with files and versions of answers",
    async (version) => {
      ui.route(
        "/empty",
        () => new Response("<title>empty</title>", { headers: { "content-type": "text/html" } }),
      );
      quickAnswers();
      const { page, troubles } = await visit(ui.url());
      await page.goto(`${ui.url()}/empty`);
      await page.evaluate(
        () =>
          new Promise((resolve, reject) => {
            const deleting = indexedDB.deleteDatabase("svc");
            deleting.onsuccess = resolve;
            deleting.onerror = reject;
          }),
      );
      await writeOlder(page, version, [older("first"), older("second")]);
      await page.goto(`${ui.url()}/ui/`);
      await page.getByRole("link", { name: "Of first" }).click();
      await page.getByText("Second answer of first").waitFor();
      // It ran when the earlier version was left; the server does not know of it.
      await page.getByText("The server no longer has the rest of this answer").waitFor();
      expect(await page.locator(".question .chip").innerText()).toContain("table.csv");
      await page.getByLabel("Previous version").click();
      await page.getByText("Answer of first", { exact: true }).waitFor();
      await say(page, "Next");
      await page.reload();
      await page.getByText("Well said").waitFor();
      await page.getByRole("link", { name: "Of second" }).click();
      await page.getByText("Second answer of second").waitFor();
      expect(troubles).toEqual([]);
    },
    SLOW_MS,
  );

  test(
    "and answers survive tabs and reloads on plain HTTP in a local network, which is no secure context",
    async () => {
      const url = overLan(ui.url());
      const waiting: (() => void)[] = [];
      ui.play(async function* () {
        yield ACCEPTED;
        yield text("Half ");
        await new Promise<void>((resolve) => void waiting.push(resolve));
        yield* answer("and whole").slice(1);
      });
      const { page, troubles } = await visit(url);
      expect(await page.evaluate(() => isSecureContext)).toBe(false);
      await page.getByLabel("Message").fill("One");
      await page.keyboard.press("Enter");
      await page.getByText("Half").waitFor();
      const other = await page.context().newPage();
      await other.goto(page.url());
      await other.getByText("Half").waitFor();
      await other.getByLabel("Message").fill("Two");
      await other.keyboard.press("Enter");
      await page.locator(".queued-text").waitFor();
      await page.reload();
      await page.getByText("Half").waitFor();
      waiting.shift()?.();
      for (const tab of [page, other]) await tab.getByText("Half and whole").waitFor();
      await until("the question that waited is asked", () => waiting.length === 1);
      waiting.shift()?.();
      for (const tab of [page, other])
        await until(
          "both answers are whole",
          async () => (await tab.getByText("Half and whole").count()) === 2,
        );
      await page.getByLabel("Copy answer").first().click();
      await page.getByLabel("Message").focus();
      await page.keyboard.press("Control+v");
      await until("it is pasted", async () => (await page.getByLabel("Message").inputValue()) !== "");
      expect(await page.getByLabel("Message").inputValue()).toBe("Half and whole");
      expect(troubles).toEqual([]);
    },
    SLOW_MS,
  );

  test(
    "that cannot be stored are saved as a file",
    async () => {
      quickAnswers();
      const { page } = await visit(ui.url());
      await page.evaluate(() => {
        IDBObjectStore.prototype.put = () => {
          throw new DOMException("the storage is full", "QuotaExceededError");
        };
      });
      await say(page, "Not to be lost");
      await page.getByText("Could not save this conversation in the browser (the storage is full)").waitFor();
      const saving = page.waitForEvent("download");
      await page.getByRole("button", { name: "Save as a file" }).click();
      const saved = JSON.parse(await Bun.file(await (await saving).path()).text());
      expect(saved.conversations[0].title).toBe("Not to be lost");
    },
    SLOW_MS,
  );

  test(
    "are written message by message, and read so by other tabs",
    async () => {
      quickAnswers();
      const { page } = await visit(ui.url());
      await page
        .getByLabel("Files to attach")
        .setInputFiles({ name: "table.csv", mimeType: "text/csv", buffer: Buffer.from("a,b\n") });
      await page.getByLabel("Remove table.csv").waitFor();
      await say(page, "First");
      const other = await page.context().newPage();
      await other.goto(page.url());
      await other.getByText("Well said").waitFor();
      const writes = await watchWrites(page);
      await say(page, "Second");
      await until("the other tab has it", async () => (await other.getByText("Well said").count()) === 2);
      const keys = new Set(await writes());
      expect(keys.size).toBe(2); // the second question and its answer, not the file of the first
      await other.reload();
      await until("it is stored", async () => (await other.getByText("Well said").count()) === 2);
    },
    SLOW_MS,
  );
});
