// Code blocks, previews and tables of answers in a browser.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { csvOf } from "../../ui/view/table-view.tsx";
import { describeInBrowser, say, violations, visit } from "../helpers/browser.ts";
import { answer } from "../helpers/run-events.ts";
import { scriptedUi } from "../helpers/scripted-ui.ts";
import { until } from "../helpers/until.ts";

const SLOW_MS = 60_000;

test("fields with commas, quotes and lines are quoted in CSV", () => {
  expect(csvOf([["a", "b,c"], ['say "hi"', "two\nlines"], [" x"]])).toBe(
    'a,"b,c"\r\n"say ""hi""","two\nlines"\r\n" x"\r\n',
  );
});

describeInBrowser("artifacts of answers", () => {
  const ui = scriptedUi();
  const show = async (text: string): Promise<{ page: Page; troubles: readonly string[] }> => {
    ui.play(async function* () {
      yield* answer(text);
    });
    const visited = await visit(ui.url());
    await say(visited.page, "Show me");
    return visited;
  };
  const download = async (page: Page, label: string): Promise<readonly [string, string]> => {
    const waiting = page.waitForEvent("download");
    await page.getByLabel(label).click();
    const file = await waiting;
    return [file.suggestedFilename(), readFileSync(await file.path(), "utf8")];
  };

  test(
    "pages run in a frame that reaches neither this page nor a network",
    async () => {
      const probe = `<h1>Hello</h1><p id="out">waiting</p><script>
        const tries = {
          parent: () => parent.document.title,
          storage: () => localStorage.length,
          network: () => fetch("/v1/models").then(() => "reached"),
        };
        (async () => {
          const found = [];
          for (const [name, what] of Object.entries(tries)) {
            try { found.push(name + " " + (await what())); } catch { found.push(name + " closed"); }
          }
          document.getElementById("out").textContent = found.join(", ");
        })();
      </script><img src="/ui/icon.svg" onerror="this.alt = 'blocked'">`;
      const { page } = await show(`\`\`\`html\n${probe}\n\`\`\``);
      await page.getByLabel("Preview").click();
      const frame = page.frameLocator("iframe.preview");
      await frame.getByRole("heading", { name: "Hello" }).waitFor();
      await frame.getByText("waiting").waitFor();
      expect(await violations(page)).toEqual([]);
      await page.getByRole("button", { name: "Run scripts anyway" }).click();
      await frame.getByText("parent closed, storage closed, network closed").waitFor();
      await frame.getByAltText("blocked").waitFor({ state: "attached" });
      expect(await violations(page)).toEqual([]);
      await page.getByLabel("Show the code").click();
      await until("the frame is gone", async () => (await page.locator("iframe").count()) === 0);
    },
    SLOW_MS,
  );

  test(
    "a previewed page cannot leave for another address",
    async () => {
      const { page } = await show(
        "```html\n<p>Stays</p><script>setTimeout(() => { location = 'http://127.0.0.1:9/?secret'; })</script>\n```",
      );
      const blocked: string[] = [];
      page.on("console", (message) => blocked.push(message.text()));
      await page.getByLabel("Preview").click();
      await page.getByRole("button", { name: "Run scripts anyway" }).click();
      await until("the policy has refused it", () => blocked.some((text) => text.includes("frame-src")));
    },
    SLOW_MS,
  );

  test(
    "scripts, handlers and announced connections of a page and of a drawing do nothing",
    async () => {
      const harm = "document.title='harm';document.body.append('HARM')";
      const markup = `<link rel=preconnect href=http://127.0.0.1:9><meta http-equiv=refresh content="0;url=http://127.0.0.1:9/">
        <h1>Calm</h1><script>${harm}</script><img src=x onerror="${harm}"><iframe srcdoc="<script>${harm}</script>"></iframe>
        <svg onload="${harm}"><script>${harm}</script><a href="javascript:${harm}"><text y=20>Click</text></a></svg>`;
      const drawing = `<svg xmlns="http://www.w3.org/2000/svg" onload="${harm}"><script>${harm}</script><circle r="4"/></svg>`;
      const { page } = await show(`\`\`\`html\n${markup}\n\`\`\`\n\n\`\`\`svg\n${drawing}\n\`\`\``);
      await page.getByLabel("Preview").nth(0).click();
      const frame = page.frameLocator("iframe.preview");
      await frame.getByRole("heading", { name: "Calm" }).waitFor();
      await frame.getByText("Click").click();
      expect(await frame.locator("script, link, meta, iframe").count()).toBe(0);
      expect(await frame.locator("body").innerText()).not.toContain("HARM");
      await page.getByLabel("Show the code").click();
      await page.getByLabel("Preview").nth(1).click();
      await frame.locator("circle").waitFor({ state: "attached" });
      expect(await frame.locator("body").innerText()).not.toContain("HARM");
      expect(await page.getByRole("button", { name: "Run scripts anyway" }).count()).toBe(0);
    },
    SLOW_MS,
  );

  test(
    "diagrams and drawings are drawn",
    async () => {
      const svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><circle r="4"/></svg>';
      const { page } = await show(
        `\`\`\`mermaid\ngraph TD; Start --> Finish\n\`\`\`\n\n\`\`\`svg\n${svg}\n\`\`\`\n\n\`\`\`mermaid\nno diagram\n\`\`\``,
      );
      for (const button of await page.getByLabel("Preview").all()) await button.waitFor();
      await page.getByLabel("Preview").nth(0).click();
      await page.frameLocator("iframe.preview").getByText("Finish").waitFor();
      await page.getByLabel("Show the code").click();
      await page.getByLabel("Preview").nth(1).click();
      await page.frameLocator("iframe.preview").locator("circle").waitFor();
      await page.getByLabel("Show the code").click();
      await page.getByLabel("Preview").nth(2).click();
      await page.frameLocator("iframe.preview").getByText("This diagram cannot be drawn").waitFor();
    },
    SLOW_MS,
  );

  test(
    "code is wrapped and downloaded, tables are downloaded as CSV",
    async () => {
      const { page, troubles } = await show(
        "```python\nprint('a long line')\n```\n\n| Name | Size |\n|--|--|\n| **b**, c | 2 |\n",
      );
      await page.getByLabel("Wrap long lines").click();
      await page.locator("pre.wrapped").waitFor();
      expect(await download(page, "Download code")).toEqual(["code.py", "print('a long line')"]);
      expect(await download(page, "Download table as CSV")).toEqual([
        "table.csv",
        'Name,Size\r\n"b, c",2\r\n',
      ]);
      expect(await violations(page)).toEqual([]);
      expect(troubles).toEqual([]);
    },
    SLOW_MS,
  );
});
