// Formulas in a browser, against a scripted server.

import { expect, test } from "bun:test";
import { describeInBrowser, say, visit, violationsInColors } from "../helpers/browser.ts";
import { answer } from "../helpers/run-events.ts";
import { scriptedUi } from "../helpers/scripted-ui.ts";

const SLOW_MS = 60_000;

describeInBrowser("formulas of an answer", () => {
  const ui = scriptedUi();

  test(
    "are rendered in place; invalid TeX remains text",
    async () => {
      ui.play(async function* () {
        yield* answer("The root $\\sqrt{x}$ and\n\n$$\n\\frac{a}{b}\n$$\n\nbut \\(\\nonsense\\) costs $5.");
      });
      const { page, troubles } = await visit(ui.url());
      await say(page, "Show me");
      await page.locator(".answer math").nth(1).waitFor();
      const shapes = await page
        .locator(".answer math")
        .evaluateAll((all) =>
          all.map((math) => [
            math.namespaceURI,
            math.firstElementChild?.localName,
            math.getAttribute("display"),
          ]),
        );
      const MATHML = "http://www.w3.org/1998/Math/MathML";
      expect(shapes).toEqual([
        [MATHML, "msqrt", null],
        [MATHML, "mfrac", "block"],
      ]);
      // The fraction is laid out: its bar is between its two lines.
      const [over, under] = await page
        .locator(".answer mfrac > *")
        .evaluateAll((parts) => parts.map((part) => part.getBoundingClientRect().top));
      expect(under).toBeGreaterThan(over ?? Infinity);
      expect(await page.locator(".answer code").allInnerTexts()).toEqual(["\\(\\nonsense\\)"]);
      expect(troubles).toEqual([]);
    },
    SLOW_MS,
  );

  test(
    "are accessible",
    async () => {
      ui.play(async function* () {
        yield* answer("$$\n\\sum_{i=1}^{n} i = \\frac{n(n+1)}{2}\n$$");
      });
      const { page } = await visit(ui.url(), { bypassCSP: true });
      await say(page, "Show me");
      await page.locator(".answer math").waitFor();
      expect(await violationsInColors(page)).toEqual([]);
    },
    SLOW_MS,
  );
});
