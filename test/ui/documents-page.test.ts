// Documents and large files in a browser: what the model gets of them, and what the page says about it.

import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { describeInBrowser, say, violations, visit } from "../helpers/browser.ts";
import { docxOf, pdfOf } from "../helpers/documents.ts";
import { scriptedUi } from "../helpers/scripted-ui.ts";

const SLOW_MS = 60_000;

interface Part {
  readonly type: string;
  readonly text?: string;
  readonly image_url?: { readonly url: string };
}

describeInBrowser("attached documents", () => {
  const ui = scriptedUi();
  let sent: readonly Part[] = [];

  async function open(modalities: readonly string[]): Promise<{ page: Page; troubles: readonly string[] }> {
    ui.route("/v1/models", () =>
      Response.json({ data: [{ id: "m", status: "loaded", context_length: 6000, modalities }] }),
    );
    ui.route("/v1/chat/completions", async (request) => {
      const body = (await request.json()) as { messages: { content: Part[] }[] };
      sent = body.messages.at(-1)?.content ?? [];
      const chunk = { choices: [{ index: 0, delta: { content: "Read." }, finish_reason: "stop" }] };
      const stream = `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`;
      return new Response(stream, { headers: { "content-type": "text/event-stream" } });
    });
    const visited = await visit(ui.url());
    await visited.page.getByText("Default: m").waitFor({ state: "attached" });
    return visited;
  }
  const attach = (page: Page, name: string, content: Uint8Array) =>
    page
      .getByLabel("Files to attach")
      .setInputFiles([{ name, mimeType: "application/octet-stream", buffer: Buffer.from(content) }]);

  test(
    "are read as text, PDFs by a worker under the page's policy",
    async () => {
      const { page, troubles } = await open([]);
      await attach(page, "two.pdf", pdfOf(["Hello from page one", "And page two"]));
      await page.getByText(/2 pages, \d+ characters/).waitFor();
      await attach(page, "letter.docx", docxOf("<w:p><w:t>Dear reader</w:t></w:p>"));
      await page.getByText("11 characters").waitFor();
      expect(await page.getByText("as images").count()).toBe(0);
      await attach(page, "broken.pdf", Buffer.from("%PDF-1.4 nothing"));
      await page.getByText("broken.pdf could not be read: it is not a readable PDF.").waitFor();
      await attach(page, "scan.pdf", pdfOf(["", ""]));
      await page.getByText("its pages are images, for a model with image input").waitFor();
      expect(await violations(page)).toEqual([]);
      await say(page, "What is in it?");
      const texts = sent.map(({ text = "" }) => text).join("\n");
      expect(texts).toContain("[page 1]\nHello from page one");
      expect(texts).toContain("[page 2]\nAnd page two");
      expect(texts).toContain("Dear reader");
      expect(troubles).toEqual([]);
    },
    SLOW_MS,
  );

  test(
    "that are made to take for ever are refused in words, and the next one is read",
    async () => {
      const { page, troubles } = await open([]);
      await attach(page, "deep.docx", docxOf("<w:p>".repeat(200_000)));
      await page.getByText("deep.docx could not be read: its elements are nested too deeply.").waitFor();
      await attach(page, "page.html", Buffer.from("<p>Dear reader</p>"));
      await page.getByText("11 characters").waitFor();
      expect(troubles).toEqual([]);
    },
    SLOW_MS,
  );

  test(
    "show their pages to a model that sees",
    async () => {
      const { page, troubles } = await open(["image"]);
      await attach(page, "two.pdf", pdfOf(["Hello from page one", "And page two"]));
      await page.getByLabel("pages as images").check();
      await page.getByLabel("pages as images").and(page.locator(":enabled:checked")).waitFor();
      await say(page, "Look");
      expect(sent.map(({ type }) => type)).toEqual(["image_url", "image_url", "text", "text"]);
      expect(sent[0]?.image_url?.url.length).toBeGreaterThan(2000);
      await attach(page, "scan.pdf", pdfOf([""])); // has no text: its pages are sent without being asked for
      await page.getByLabel("pages as images").and(page.locator(":checked")).waitFor();
      await say(page, "And this?");
      expect(sent.map(({ type }) => type)).toEqual(["image_url", "text"]);
      expect(troubles).toEqual([]);
    },
    SLOW_MS,
  );

  test(
    "that are large are searched by passages, which the page shows",
    async () => {
      const { page } = await open([]);
      const about = (i: number) => (i === 40 ? "The walrus sleeps." : `Number ${i} swims.`);
      const text = Array.from({ length: 60 }, (_, i) => `${about(i)} ${"Water. ".repeat(180)}`).join("\n\n");
      await attach(page, "sea.txt", Buffer.from(text));
      await page.getByText("large: the passages that suit the question are sent").waitFor();
      await say(page, "Who sleeps, the walrus?");
      expect(sent[0]?.text).toContain("[passage 41]\nThe walrus sleeps.");
      expect(sent[0]?.text?.length ?? 0).toBeLessThan(10_000);
      await page.getByRole("button", { name: /Sent \d of 60 passages of sea.txt/ }).click();
      await page.getByText("The walrus sleeps.").waitFor();
      expect(await violations(page)).toEqual([]);
      await say(page, "What does number 50 do, and 51?");
      expect(sent.some(({ text: part = "" }) => part.startsWith("More of file sea.txt"))).toBe(true);
      await page.reload();
      await page
        .getByRole("button", { name: /Sent \d of 60 passages of sea.txt/ })
        .first()
        .waitFor();
    },
    SLOW_MS,
  );
});
