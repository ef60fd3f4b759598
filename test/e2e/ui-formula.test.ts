// Formulas in the web interface of the compiled executable. The built-in model generates no TeX, so the answer is injected
// in the browser; the translator and the font come from the executable.

import { expect, test } from "bun:test";
import { fileServer } from "../helpers/binary.ts";
import { describeInBrowser, say, visit } from "../helpers/browser.ts";

const SLOW_MS = 60_000;

describeInBrowser("formulas in the web interface of the executable", () => {
  const server = fileServer();

  test(
    "are rendered by the embedded translator, loaded with the first one",
    async () => {
      const { page, troubles } = await visit(server().url);
      const asked: string[] = [];
      page.on("response", (response) => {
        if (response.url().includes("temml")) asked.push(`${response.status()}`);
      });
      let content = "No formula.";
      await page.route("**/v1/chat/completions", (route) => {
        const chunk = { choices: [{ index: 0, delta: { content }, finish_reason: "stop" }] };
        return route.fulfill({
          contentType: "text/event-stream",
          body: `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`,
        });
      });
      await say(page, "Say something");
      expect(asked).toEqual([]);
      content = "$$\\left(\\frac{a}{b}\\right)$$";
      await say(page, "Show a fraction");
      await page.locator(".answer mfrac").waitFor();
      expect(asked).toEqual(["200"]);
      // The executable's own font is there for machines that have none; whether it was needed is theirs to know.
      const font = await page.evaluate(() => document.fonts.load("16px 'svc math'", "x"));
      expect(font).toHaveLength(1);
      expect(troubles).toEqual([]);
    },
    SLOW_MS,
  );
});
