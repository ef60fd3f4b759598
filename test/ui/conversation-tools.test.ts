// Tools of a conversation in a browser: pins and tags, fork, edits, files for sharing, assistants, palette, full context.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { describeInBrowser, overLan, say, violations, visit } from "../helpers/browser.ts";
import { answer } from "../helpers/run-events.ts";
import { PNG } from "../helpers/mcp-demo.ts";
import { scriptedUi } from "../helpers/scripted-ui.ts";
import { until } from "../helpers/until.ts";

const SLOW_MS = 60_000;

const questions = (page: Page): Promise<readonly string[]> => page.locator(".bubble").allInnerTexts();
const tokensOf = (text: string): number => Math.ceil(text.length / 5);
const pick = async (page: Page, menu: string, item: string): Promise<void> => {
  await page.getByLabel(menu).last().click();
  await page.getByRole("button", { name: item, exact: true }).click();
};

describeInBrowser("a conversation", () => {
  const ui = scriptedUi();
  /** Texts of the last request's messages, with their roles. */
  let asked: readonly string[] = [];
  const answers = (text = "Well said"): void =>
    ui.play(async function* ({ run }) {
      if (run.prompt.type === "chat")
        asked = run.prompt.messages.map(
          ({ role, content }) =>
            `${role}: ${content.map((part) => ("text" in part ? part.text : "")).join("")}`,
        );
      const tokens = { promptTokens: tokensOf(asked.join("")), completionTokens: tokensOf(text) };
      yield* answer(text).map((event) =>
        event.type === "finish" ? { ...event, usage: { ...event.usage, ...tokens } } : event,
      );
    });

  /** A page with a conversation about whales, and a later one about sparrows. */
  const twoConversations = async (url = ui.url()): Promise<Page> => {
    answers();
    const { page } = await visit(url);
    await say(page, "Whales");
    await page.getByRole("button", { name: "New conversation" }).click();
    await say(page, "Sparrows");
    return page;
  };

  test(
    "is pinned and tagged, and found by its tag",
    async () => {
      const page = await twoConversations();
      await page.getByLabel("Options for Whales").click();
      expect(await violations(page)).toEqual([]);
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("Enter"); // Pin
      await page.getByRole("region", { name: "Pinned" }).getByText("Whales").waitFor();
      await pick(page, "Options for Whales", "Tags");
      const dialog = page.getByRole("dialog", { name: "Tags" });
      await dialog.getByText("Conversation “Whales”").waitFor();
      expect(await violations(page)).toEqual([]);
      await page.getByLabel("Tags, with commas between them").fill("sea, work, sea");
      await page.keyboard.press("Enter");
      await page.getByRole("group", { name: "Tags" }).getByRole("button", { name: "sea" }).click();
      expect(await page.locator(".item").count()).toBe(1);
      await until("it is stored", async () => {
        await page.reload();
        await page.locator(".item").first().waitFor();
        return (await page.getByRole("region", { name: "Pinned" }).getByText("sea · work").count()) > 0;
      });
      expect(await violations(page)).toEqual([]);
      const tools = ["code_execution", "web_search"];
      ui.route("/ui/mcp", () => Response.json({ can_add: false, servers: [], tools }));
      await page.getByRole("button", { name: "New conversation" }).click();
      await page.reload();
      await page.getByText("The model can run Python and search the web.").waitFor();
      await page.getByRole("button", { name: "Tools: none on" }).click();
      expect(await page.getByRole("switch").count()).toBe(2);
      await page.getByLabel("Run Python").check();
      expect(await violations(page)).toEqual([]);
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Tools: 1 on", expanded: false }).waitFor();
    },
    SLOW_MS,
  );

  test(
    "is put into a folder, which is folded, searched and left, on plain HTTP in a local network",
    async () => {
      const page = await twoConversations(overLan(ui.url()));
      await pick(page, "Options for Whales", "Folder");
      await page.getByLabel("Folder, empty for none").fill("Sea");
      await page.keyboard.press("Enter");
      const folder = page.getByRole("region", { name: "Folder Sea" });
      await folder.getByRole("link", { name: "Whales" }).waitFor();
      expect(await page.getByRole("region", { name: "Today" }).getByText("Whales").count()).toBe(0);
      expect(await violations(page)).toEqual([]);
      await folder.getByRole("button", { name: /^Sea/ }).click();
      await folder.getByRole("link").waitFor({ state: "detached" });
      await page.addInitScript(() => {
        const focusOnce = new MutationObserver(() => {
          const box = document.getElementById("search");
          box?.focus();
          if (box !== null) focusOnce.disconnect();
        });
        focusOnce.observe(document, { childList: true, subtree: true });
      });
      await page.reload();
      await folder.waitFor();
      await page.getByLabel("Message").waitFor();
      expect(await page.locator("#search:focus").count()).toBe(1); // the message box has left the focus
      expect(await folder.getByRole("link").count()).toBe(0);
      await page.getByLabel("Search conversations").fill("whales");
      await folder.getByRole("link", { name: "Whales" }).waitFor();
      await pick(page, "Options for Whales", "Folder");
      await page.getByLabel("Folder, empty for none").fill("");
      await page.keyboard.press("Enter");
      await page.getByRole("region", { name: "Today" }).getByText("Whales").waitFor();
      expect(await folder.count()).toBe(0);
    },
    SLOW_MS,
  );

  test(
    "is edited, shortened and forked, and a deletion is undone",
    async () => {
      answers();
      const { page } = await visit(ui.url());
      await say(page, "One");
      await say(page, "Two");
      await pick(page, "More actions for this answer", "Edit answer");
      await page.getByRole("textbox", { name: "Edit answer" }).fill("Better said");
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await page.getByText("Better said").waitFor();
      await page.getByText("2/2").waitFor();
      await pick(page, "More actions for this question", "Delete question");
      expect(await questions(page)).toEqual(["One"]);
      await page.getByRole("button", { name: "Undo" }).click();
      expect(await questions(page)).toEqual(["One", "Two"]);
      await page.getByText("Better said").waitFor();
      await pick(page, "More actions for this question", "Delete question");
      await say(page, "Three");
      expect(asked).toEqual(["user: One", "assistant: Well said", "user: Three"]);
      await page.reload();
      await page.getByText("Three", { exact: true }).waitFor();
      expect(await questions(page)).toEqual(["One", "Three"]);
      await page.getByLabel("More actions for this answer").first().click();
      await page.getByRole("button", { name: "Fork from here" }).click();
      await page.getByRole("heading", { name: "One (fork)" }).waitFor();
      expect(await questions(page)).toEqual(["One"]);
      await pick(page, "More actions for this answer", "Delete answer");
      await page.getByRole("button", { name: "Answer", exact: true }).click();
      await page.getByText("Well said").waitFor();
    },
    SLOW_MS,
  );

  test(
    "is saved as a web page, Markdown and JSON",
    async () => {
      answers("**Bold** <script>alert(1)</script>\n\n| a |\n|--|\n| 1 |\n\n$x^2$");
      const { page } = await visit(ui.url());
      await say(page, "Show <b>it</b>");
      const saved = async (format: string): Promise<readonly [string, string]> => {
        await page.getByLabel(/^Options for/).click();
        await page.getByRole("button", { name: "Share" }).click();
        await page.getByRole("dialog", { name: "Save conversation as a file" }).waitFor();
        if (format === "Web page") expect(await violations(page)).toEqual([]);
        const waiting = page.waitForEvent("download");
        await page.getByRole("button", { name: format }).click();
        const file = await waiting;
        return [file.suggestedFilename(), readFileSync(await file.path(), "utf8")];
      };
      const [name, html] = await saved("Web page");
      expect(name).toBe("Show-b-it-b.html");
      expect(html).toContain("<strong>Bold</strong>");
      expect(html).toContain("Show &lt;b&gt;it&lt;/b&gt;");
      expect(html).toContain("<msup>");
      expect(html).not.toMatch(/<script|<button/);
      expect(await saved("Markdown")).toEqual([
        "Show-b-it-b.md",
        expect.stringContaining("## Question\n\nShow <b>it</b>\n\n## Answer\n\n**Bold**"),
      ]);
      expect((await saved("JSON"))[1]).toContain('"format": "svc-conversations"');
    },
    SLOW_MS,
  );

  test(
    "takes the settings of an assistant",
    async () => {
      answers();
      const { page } = await visit(ui.url());
      await page.getByLabel("Conversation settings").first().click();
      await page.getByLabel("System prompt").fill("Rhyme.");
      await page.getByLabel("Name of the assistant").fill("Poet");
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await page.getByRole("button", { name: "Reset all" }).click();
      expect(await violations(page)).toEqual([]);
      await page.reload();
      await page.getByRole("button", { name: "Poet" }).click();
      await page.getByRole("button", { name: "Poet", pressed: true }).waitFor();
      expect(await violations(page)).toEqual([]);
      await say(page, "Hello");
      expect(asked).toEqual(["system: Rhyme.", "user: Hello"]);
    },
    SLOW_MS,
  );

  test(
    "is asked by saved prompts, which are inserted by name and exported",
    async () => {
      answers();
      const { page, troubles } = await visit(ui.url());
      const box = page.getByLabel("Message", { exact: true });
      const selected = (): Promise<string> =>
        box.evaluate((area: HTMLTextAreaElement) => area.value.slice(area.selectionStart, area.selectionEnd));
      const save = async (name: string, text: string): Promise<void> => {
        await page.getByLabel("Text of the prompt").fill(text);
        await page.getByLabel("Name of the prompt").fill(name);
        await page.getByRole("button", { name: "Save the prompt" }).click();
        await page.getByRole("button", { name, exact: true }).waitFor();
      };
      await page.getByLabel("Conversation settings").first().click();
      await save("translate", "Translate into {{language}}: {{text}}");
      await save("tidy", "Tidy this up:");
      expect(await violations(page)).toEqual([]);
      await page.reload();
      await box.fill("/t");
      const options = page.getByRole("listbox", { name: "Prompts" }).getByRole("option");
      const offered = (count: number): Promise<boolean> =>
        until(`${count} prompts are offered`, async () => (await options.count()) === count);
      await offered(2);
      expect(await violations(page)).toEqual([]);
      await box.press("Escape");
      await offered(0);
      await box.fill("/T");
      await offered(2);
      await box.press("ArrowDown");
      await page.getByRole("option", { selected: true }).and(options.last()).waitFor();
      await box.press("Enter");
      await until("the first blank is selected", async () => (await selected()) === "{{language}}");
      await page.keyboard.type("German");
      await until("it is typed", async () => (await box.inputValue()) === "Translate into German: {{text}}");
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Search actions" }).fill("insert prompt tidy");
      await page.keyboard.press("Enter");
      await until("it is added", async () => (await box.inputValue()).endsWith("{{text}}\n\nTidy this up:"));
      await page.evaluate(() => new Promise(requestAnimationFrame)); // the cursor is set in a frame
      await box.fill("/nothing of this name");
      await box.press("Enter");
      await page.getByText("Well said").waitFor();
      expect(asked).toEqual(["user: /nothing of this name"]);
      const exporting = page.waitForEvent("download");
      await page.getByLabel("Export everything").click();
      const text = readFileSync(await (await exporting).path(), "utf8");
      expect(JSON.parse(text)).toMatchObject({ prompts: [{ name: "tidy" }, { name: "translate" }] });
      expect(troubles).toEqual([]);
    },
    SLOW_MS,
  );

  test(
    "and every page and action are reached by the palette",
    async () => {
      answers();
      const { page } = await visit(ui.url());
      await say(page, "About whales");
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Search actions" }).fill("theme dark");
      await page.getByRole("option", { name: "Theme: dark" }).waitFor();
      expect(await violations(page)).toEqual([]);
      await page.keyboard.press("Enter");
      await until("the theme is dark", () =>
        page.evaluate(() => document.documentElement.dataset["theme"] === "dark"),
      );
      await page.getByRole("combobox", { name: "Search actions" }).waitFor({ state: "hidden" });
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Search actions" }).fill("models");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Models", exact: true }).waitFor();
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Search actions" }).fill("wha");
      await page.keyboard.press("Enter");
      await page.getByText("Well said").waitFor();
    },
    SLOW_MS,
  );

  test(
    "shows all of its images in a dialog",
    async () => {
      answers();
      const { page } = await visit(ui.url());
      const buffer = Buffer.from(PNG, "base64");
      await page
        .locator("input[type=file]")
        .setInputFiles({ name: "dot.png", mimeType: "image/png", buffer });
      await page.getByRole("list", { name: "Attachments" }).getByText("dot.png").waitFor();
      await say(page, "What is it?");
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Search actions" }).fill("images of this");
      await page.keyboard.press("Enter");
      const dialog = page.getByRole("dialog", { name: "Images of this conversation" });
      await dialog.getByRole("img", { name: "dot.png" }).waitFor();
      expect(await violations(page)).toEqual([]);
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
    },
    SLOW_MS,
  );

  test(
    "that nearly fills the context says with what, and offers ways out",
    async () => {
      ui.route("/v1/models", () =>
        Response.json({ data: [{ id: "m", status: "loaded", context_length: 400, modalities: [] }] }),
      );
      answers("word ".repeat(100));
      const { page } = await visit(ui.url());
      await say(page, "First question");
      await say(page, "Second question");
      await say(page, "Third question");
      await page.getByLabel("Message").fill("word ".repeat(300));
      await page.getByText("Questions and answers: about").waitFor();
      await page.getByText("What you type: about").waitFor();
      await page.getByText("This does not fit").waitFor();
      expect(await violations(page)).toEqual([]);
      await page.getByLabel("Message").fill("");
      await page.getByRole("button", { name: /of the context used/ }).click();
      await page.getByRole("button", { name: "Leave out the oldest" }).click();
      await page.getByText("The model does not get the messages above.").waitFor();
      await say(page, "Fourth question");
      expect(asked.some((text) => text.includes("First"))).toBe(false);
      await page.getByRole("button", { name: "Send them again" }).click();
      answers("They counted words.");
      await page.getByRole("button", { name: "Summarize the oldest" }).click();
      await page.getByText("The model gets a summary of the messages above.").waitFor();
      expect(asked.at(-1)).toContain("User: First question");
      await page.getByRole("button", { name: "Summary", exact: true }).click();
      expect(await page.getByRole("region", { name: "Cut" }).innerText()).toContain("They counted words.");
      expect(await violations(page)).toEqual([]);
      await say(page, "Fifth question");
      expect(asked[0]).toContain("They counted words.");
      await page.getByRole("button", { name: "Go on in a new conversation" }).click();
      await page.getByText("The model gets a summary of an earlier conversation.").waitFor();
      expect(await violations(page)).toEqual([]);
      await say(page, "Sixth question");
      expect(asked).toHaveLength(2);
      expect(asked[0]).toContain("They counted words.");
    },
    SLOW_MS,
  );
});
