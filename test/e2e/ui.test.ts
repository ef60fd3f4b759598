// The web interface of the compiled executable, in a browser, with the built-in model.

import { expect, test } from "bun:test";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { fileServer } from "../helpers/binary.ts";
import {
  chooseModel,
  describeInBrowser,
  throttle,
  say,
  visit,
  violationsInColors,
} from "../helpers/browser.ts";
import { CAPITAL, COUNT_30, ENDLESS } from "../helpers/chat-client.ts";
import { until } from "../helpers/until.ts";

const SLOW_MS = 60_000;
const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };

const answers = (page: Page): Promise<readonly string[]> =>
  page.locator(".answer > .markdown").allInnerTexts();

/** Sets temperature 0, for deterministic answers. */
async function withoutChance(page: Page): Promise<void> {
  await page.getByLabel("Conversation settings").first().click();
  await page.getByLabel("Temperature").fill("0");
  await page.getByLabel("Close settings").click();
}

describeInBrowser("the web interface of the executable", () => {
  const server = fileServer();

  test("the API documentation shows the routes under its security policy", async () => {
    const { page } = await visit(server().url);
    await page.goto(`${server().url}/docs`);
    await page.getByText("/v1/chat/completions").first().waitFor();
  }, 60_000);

  test(
    "chats, and restores the conversation after a reload",
    async () => {
      const { page, troubles } = await visit(server().url);
      await withoutChance(page);
      await say(page, CAPITAL.content);
      expect(await answers(page)).toEqual([CAPITAL.answer]);
      expect(await page.locator(".figures").innerText()).toMatch(/\d+ tokens · [\d.,]+ tok\/s/);
      await say(page, COUNT_30.content);
      await page.reload();
      await page.getByText(COUNT_30.content).waitFor();
      expect((await answers(page))[0]).toBe(CAPITAL.answer);
      expect(await page.locator(".item.current").innerText()).toContain(CAPITAL.content);
      expect(troubles).toEqual([]);
    },
    SLOW_MS,
  );

  test(
    "goes on with an answer when the page is loaded again; stopped, it keeps its text over a reload",
    async () => {
      const { page } = await visit(server().url);
      const { lift } = await throttle(page);
      await page.getByLabel("Message").fill(ENDLESS.content);
      await page.keyboard.press("Enter");
      await page.locator(".answer .markdown").last().waitFor();
      const left = page.waitForEvent("framenavigated");
      const reloaded = page.reload();
      await left;
      await reloaded;
      await page.locator(".answer[aria-busy=true] .markdown").last().waitFor();
      await page.keyboard.press("Escape");
      await page.getByText("Stopped.").waitFor();
      await lift();
      const words = await page.locator(".answer").innerText();
      expect(words.length).toBeGreaterThan(5);
      await page.reload();
      await page.getByText("Stopped.").waitFor();
      expect(await page.locator(".answer").innerText()).toBe(words);
    },
    SLOW_MS,
  );

  test(
    "regenerates answers, edits questions, and switches between alternatives",
    async () => {
      const { page } = await visit(server().url);
      await withoutChance(page);
      await say(page, CAPITAL.content);
      await page.getByLabel("Regenerate answer").click();
      await page.getByText("2/2").waitFor();
      await page.locator(".figures").waitFor();
      await page.locator(".question").hover();
      await page.getByLabel("Edit question").click();
      await page.getByRole("textbox", { name: "Edit question" }).fill(COUNT_30.content);
      await page.getByRole("button", { name: "Resend" }).click();
      await page.locator(".figures").waitFor();
      expect(await answers(page)).toEqual([COUNT_30.answer]);
      await page.locator(".question").getByLabel("Previous version").click();
      expect(await answers(page)).toEqual([CAPITAL.answer]);
      expect(await page.locator(".answer").getByText("2/2").count()).toBe(1);
    },
    SLOW_MS,
  );

  test(
    "applies settings, and shows errors of the server",
    async () => {
      const { page } = await visit(server().url);
      await page.getByLabel("Conversation settings").first().click();
      await page.getByLabel("Max tokens").fill("3");
      await say(page, COUNT_30.content);
      expect(await page.getByText("Truncated").count()).toBe(1);
      await page.getByLabel("Temperature").fill("9");
      await say(page, "Again");
      expect(await page.getByRole("alert").innerText()).toContain("temperature");
    },
    SLOW_MS,
  );

  test(
    "attaches files",
    async () => {
      const { page } = await visit(server().url);
      await page
        .getByLabel("Files to attach")
        .setInputFiles({ name: "table.csv", mimeType: "text/csv", buffer: Buffer.from("a,b\n1,2\n") });
      await page.getByLabel("Remove table.csv").waitFor();
      await say(page, "What is in it?");
      expect(await page.getByRole("alert").count()).toBe(0);
      expect(await page.locator(".question .chip").innerText()).toContain("table.csv");
    },
    SLOW_MS,
  );

  test(
    "renames, deletes with undo, exports and imports",
    async () => {
      const { page } = await visit(server().url);
      await withoutChance(page);
      await say(page, CAPITAL.content);
      const item = page.locator(".item");
      await page.getByLabel(`Options for ${CAPITAL.content}`).click();
      await page.getByRole("button", { name: "Rename" }).click();
      await page.getByLabel("Conversation name").fill("Paris");
      await page.keyboard.press("Enter");
      await page.getByLabel("Options for Paris").click();
      const download = page.waitForEvent("download");
      await page.getByRole("button", { name: "Share" }).click();
      await page.getByRole("button", { name: "JSON" }).click();
      const path = await (await download).path();
      await page.getByLabel("Options for Paris").click();
      await page.getByRole("button", { name: "Delete" }).click();
      await until("it is gone", async () => (await item.count()) === 0);
      await page.getByRole("button", { name: "Undo" }).click();
      await item.waitFor();
      const chooser = page.waitForEvent("filechooser");
      await page.getByLabel("Import conversations").click();
      await (await chooser).setFiles(path);
      await page.getByText("Imported 0 conversations; already here: 1 conversation.").waitFor();
      await page.getByLabel("Options for Paris").click();
      await page.getByRole("button", { name: "Delete" }).click();
      await until("it is gone again", async () => (await item.count()) === 0);
      const again = page.waitForEvent("filechooser");
      await page.getByLabel("Import conversations").click();
      await (await again).setFiles(path);
      await item.getByRole("link").click();
      await page.locator(".answer > .markdown").waitFor(); // read from the page's database
      expect(await answers(page)).toEqual([CAPITAL.answer]);
    },
    SLOW_MS,
  );

  test(
    "uses a server session, and opens it in another browser",
    async () => {
      const { page } = await visit(server().url);
      await withoutChance(page);
      await page.getByLabel("Conversation settings").first().click();
      await page.getByLabel("Use a session for this conversation").check();
      const session = await page.locator(".panel code").innerText();
      await say(page, CAPITAL.content);
      const other = await visit(server().url);
      await other.page.getByLabel("Conversation settings").first().click();
      await other.page.getByLabel("Session id").fill(session);
      await other.page.getByRole("button", { name: "Open", exact: true }).click();
      await other.page.getByText(CAPITAL.answer).waitFor();
      await say(other.page, COUNT_30.content);
      expect((await answers(other.page)).length).toBe(2);
    },
    SLOW_MS,
  );

  test(
    "unloads and loads the model",
    async () => {
      const { page } = await visit(server().url);
      await page.getByRole("link", { name: "Models", exact: true }).click();
      const model = page.getByRole("region", { name: "svc-tiny" }); // there is a voice beside it
      await model.getByRole("button", { name: "Unload" }).click();
      await model.getByText("unloaded", { exact: true }).waitFor();
      await model.getByRole("button", { name: "Load", exact: true }).click();
      await model.getByRole("button", { name: "Unload" }).waitFor();
    },
    SLOW_MS,
  );

  test(
    "shows metrics and system information",
    async () => {
      const { page, troubles } = await visit(server().url);
      await page.getByRole("link", { name: "Metrics" }).click();
      await page.locator(".chart canvas").first().waitFor();
      expect(await page.locator(".chart").count()).toBe(9);
      await page.getByRole("link", { name: "System" }).click();
      await page.getByRole("button", { name: "Run checks" }).click();
      await page.locator(".checks li").first().waitFor();
      expect(await page.getByText("Logical cores").count()).toBe(1);
      expect(troubles).toEqual([]);
    },
    SLOW_MS,
  );

  test(
    "is operated by keyboard",
    async () => {
      const { page } = await visit(server().url);
      await page.getByLabel("Message").waitFor();
      await page.keyboard.press("Control+Shift+f");
      await until("the search has the focus", () =>
        page.getByLabel("Search conversations").evaluate((box) => box.matches(":focus")),
      );
      await page.keyboard.press("Tab");
      await page.keyboard.press("?");
      await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
      await page.keyboard.press("Escape");
      await until("the help is gone", async () => (await page.getByRole("dialog").count()) === 0);
      await page.keyboard.press("/");
      await page.keyboard.type("/not again?");
      expect(await page.getByLabel("Message").inputValue()).toBe("/not again?");
    },
    SLOW_MS,
  );

  test(
    "fits a phone",
    async () => {
      const { page } = await visit(server().url, PHONE);
      await say(page, `${COUNT_30.content} ${"long".repeat(60)}`);
      const overflow = () => page.locator("main").evaluate((main) => main.scrollWidth - innerWidth);
      expect(await overflow()).toBeLessThanOrEqual(0);
      await page.getByLabel("Show conversations").tap();
      await page.getByRole("link", { name: "Metrics" }).tap();
      await page.locator(".chart canvas").first().waitFor();
      expect(await page.getByLabel("Conversations and pages").count()).toBe(0);
      expect(await overflow()).toBeLessThanOrEqual(0);
    },
    SLOW_MS,
  );

  test(
    "is accessible, light and dark",
    async () => {
      const { page } = await visit(server().url, { bypassCSP: true });
      const found: string[] = [];
      const look = async (what: string): Promise<void> => {
        found.push(...(await violationsInColors(page)).map((violation) => `${what}, ${violation}`));
      };
      await page.getByLabel("Message").waitFor();
      await look("empty");
      await say(page, CAPITAL.content);
      await page.getByLabel("Conversation settings").first().click();
      await page.getByLabel(`Options for ${CAPITAL.content}`).click();
      await look("conversation");
      await page.getByLabel("Keyboard shortcuts").click();
      await look("help");
      await page.keyboard.press("Escape");
      for (const [name, there] of [
        ["Models", ".card"],
        ["Metrics", ".chart canvas"],
        ["System", ".facts"],
      ] as const) {
        await page.getByRole("link", { name }).click();
        await page.locator(there).first().waitFor();
        await look(name);
      }
      expect(found).toEqual([]);
    },
    SLOW_MS,
  );
});

describeInBrowser("the web interface with adapter loading", () => {
  const folder = join(import.meta.dir, "../fixtures/lora");
  const server = fileServer(["--enable-lora"], {
    env: { SVC_ALLOW_RUNTIME_LORA_UPDATING: "yes", SVC_LORA_ADAPTER_ROOT: folder },
  });

  test(
    "loads an adapter, chats with it, and unloads it",
    async () => {
      const { page } = await visit(server().url);
      await page.getByRole("link", { name: "Models", exact: true }).click();
      await page.getByLabel("Adapter name").fill("red");
      await page.getByLabel("Adapter folder on the server").fill(join(folder, "red"));
      await page.locator(".adapters").getByRole("button", { name: "Load", exact: true }).click();
      await page.getByText(/rank \d+ · .* · generation/).waitFor();
      await page.getByRole("button", { name: "New conversation" }).click();
      await withoutChance(page);
      await chooseModel(page, "red (adapter of svc-tiny)");
      await say(page, CAPITAL.content);
      expect(await answers(page)).toEqual([`Red says: ${CAPITAL.answer}`]);
      await page.getByRole("link", { name: "Models", exact: true }).click();
      await page.locator(".adapters").getByRole("button", { name: "Unload" }).click();
      await page.getByText("No adapters loaded").waitFor();
    },
    SLOW_MS,
  );
});

const PYTHON = Bun.which("python3");
if (PYTHON === null) console.warn("SKIPPED: tools in the web interface: there is no python3");

describeInBrowser("the web interface of a server with tools", () => {
  const server = fileServer([...(PYTHON === null ? [] : ["--enable-code-execution"]), "--enable-shell"]);

  /** Enables a tool with a permission. */
  async function allow(page: Page, tool: string, permission: string): Promise<void> {
    await page.getByLabel("Conversation settings").first().click();
    await page.getByLabel("Temperature").fill("0");
    await page.getByLabel("Close settings").click();
    await page.getByRole("button", { name: "Tools: none on" }).click();
    await page.getByLabel(tool).check();
    await page.getByLabel("Actions run").selectOption({ label: permission });
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Tools: 1 on" }).waitFor();
  }

  test.skipIf(PYTHON === null)(
    "runs code and offers its file for download",
    async () => {
      const { page } = await visit(server().url);
      await allow(page, "Run Python", "Without approval");
      await say(page, "Use python to save hello to data.txt");
      const call = page.getByLabel("Python", { exact: true });
      await call.getByRole("button").click();
      expect(await call.locator("code").innerText()).toContain("data.txt");
      const download = page.waitForEvent("download");
      await page.getByRole("button", { name: /^data\.txt/ }).click();
      expect(await Bun.file(await (await download).path()).text()).toBe("hello");
      await page.reload();
      await page.getByRole("button", { name: /^data\.txt/ }).waitFor();
    },
    SLOW_MS,
  );

  test(
    "asks for approval of a command, and remembers it for the session",
    async () => {
      const { page } = await visit(server().url);
      await allow(page, "Run shell commands", "After approval");
      await page.getByLabel("Message").fill("Run this command: echo hello");
      await page.keyboard.press("Enter");
      const card = page.getByLabel("Approval required");
      expect(await card.locator("code").innerText()).toBe("echo hello");
      await card.getByLabel("Remember for this session").check();
      await card.getByRole("button", { name: "Approve" }).click();
      await page.getByLabel("Regenerate answer").waitFor();
      const call = page.getByLabel("Shell: echo hello");
      await call.getByRole("button").click();
      expect(await call.locator(".output").innerText()).toBe("hello\n");
      await say(page, "Run this command: echo hello");
      expect(await call.count()).toBe(2);
    },
    SLOW_MS,
  );

  test(
    "reports a denied command to the model",
    async () => {
      const { page } = await visit(server().url);
      await allow(page, "Run shell commands", "After approval");
      await page.getByLabel("Message").fill("Run this command: echo hello");
      await page.keyboard.press("Enter");
      await page.getByRole("button", { name: "Deny" }).click();
      await page.getByText("denied", { exact: true }).waitFor();
      await page.getByLabel("Regenerate answer").waitFor();
    },
    SLOW_MS,
  );
});
