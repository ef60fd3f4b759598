// MCP servers in the page: added, switched off for a conversation, removed.

import { afterAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import type { McpSelection } from "../../src/core/agent.ts";
import { SERVER } from "../../src/core/caller.ts";
import { PageMcpServers } from "../../src/mcp/page-servers.ts";
import { memoryState } from "../../src/state/memory.ts";
import { ownedState } from "../../src/state/owned.ts";
import { describeInBrowser, overLan, say, violations, visit } from "../helpers/browser.ts";
import { httpDemo } from "../helpers/mcp.ts";
import { answer } from "../helpers/run-events.ts";
import { scriptedUi } from "../helpers/scripted-ui.ts";
import { until } from "../helpers/until.ts";

const SLOW_MS = 60_000;

/** Waits until the page, whose clock is installed, has a text after one of its looks at the server. */
const polled = (page: Page, text: string): Promise<boolean> =>
  until(`the page shows ${text}`, async () => {
    await page.clock.fastForward(5000);
    return page.getByText(text).isVisible();
  });

describeInBrowser("MCP servers", () => {
  const servers = new PageMcpServers({
    configured: undefined,
    state: ownedState(memoryState()),
    environment: {},
    log: () => undefined,
  });
  afterAll(() => servers.close());
  const ui = scriptedUi({ mcp: { servers, isAllowed: () => true } });

  test(
    "are added, prompt, are switched off for a conversation, and removed",
    async () => {
      let asked: McpSelection | undefined;
      ui.play(async function* ({ agent }) {
        asked = agent.mcp;
        yield* answer("Well said");
      });
      const { url } = httpDemo({ only: ["echo"], offers: true });
      const { page, troubles } = await visit(overLan(ui.url()));
      await page.clock.install();
      await page.getByLabel("Conversation settings").first().click();
      await page.getByRole("button", { name: "Add an MCP server" }).click();
      const form = page.getByRole("form", { name: "Add an MCP server" });
      expect(await violations(page)).toEqual([]);
      await form.getByLabel("Name").fill("my wiki");
      await form.getByLabel("Address").fill(url);
      await form.getByLabel("Token").fill("hunter2");
      await form.getByRole("button", { name: "Add" }).click();
      await form.getByRole("alert").getByText("1 to 32 letters").waitFor();
      await form.getByLabel("Name").fill("wiki");
      await form.getByRole("button", { name: "Add" }).click();
      await polled(page, "1 tool");
      await page.getByText("1 tool", { exact: false }).click();
      await page.getByText("wiki_echo").waitFor();
      expect(await violations(page)).toEqual([]);
      const box = page.getByLabel("Message", { exact: true });
      await box.fill("/rev");
      await page.getByRole("option", { name: "/wiki:review" }).waitFor();
      await box.press("Enter");
      const dialog = page.getByRole("dialog", { name: "Review" });
      await dialog.getByLabel("path").fill("a.ts");
      expect(await violations(page)).toEqual([]);
      await dialog.getByLabel("path").press("Enter");
      await until("it is inserted", async () => (await box.inputValue()) === "Review a.ts.\n\nGladly.");
      await page.getByText("Only the text of the prompt was inserted").waitFor();
      expect(asked).toBeUndefined(); // nothing was sent
      await say(page, "With it");
      expect(asked).toEqual({ off: [], own: true });
      await page.getByRole("switch", { name: "wiki" }).click();
      await say(page, "Without it");
      const [added] = servers.list(SERVER);
      expect(asked).toEqual({ off: [added?.id ?? ""], own: true });
      await page.getByRole("button", { name: "Remove the MCP server wiki" }).click();
      await page.getByRole("switch", { name: "wiki" }).waitFor({ state: "detached" });
      expect(servers.list(SERVER)).toEqual([]);
      expect(troubles.filter((text) => !text.includes("Content Security Policy"))).toEqual([]);
    },
    SLOW_MS,
  );

  test(
    "that refuse access take another token",
    async () => {
      const demo = httpDemo({ only: ["echo"] });
      demo.status = 401;
      const { id } = servers.add({ name: "locked", url: demo.url }, SERVER);
      const { page } = await visit(ui.url());
      await page.clock.install();
      await page.getByLabel("Conversation settings").first().click();
      await polled(page, "Not connected: it needs a valid token");
      expect(await violations(page)).toEqual([]);
      demo.status = undefined;
      const form = page.getByRole("form", { name: "Token of locked" });
      await form.locator("input").fill("t");
      await form.getByRole("button", { name: "Save" }).click();
      await polled(page, "1 tool");
      expect(await form.count()).toBe(0);
      expect(demo.seen.at(-1)?.get("authorization")).toBe("Bearer t");
      servers.remove(id, SERVER);
    },
    SLOW_MS,
  );

  test(
    "that cannot be reached say so",
    async () => {
      servers.add({ name: "away", url: "http://127.0.0.1:1/mcp" }, SERVER);
      const { page } = await visit(ui.url());
      await page.getByLabel("Conversation settings").first().click();
      await page.getByText("Not connected: it could not be reached").waitFor();
      expect(await violations(page)).toEqual([]);
    },
    SLOW_MS,
  );
});
