// The page in another language: that of the browser, or the chosen one.

import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { de } from "../../ui/texts/de.ts";
import { en } from "../../ui/texts/en.ts";
import { describeInBrowser, overLan, violations, visit } from "../helpers/browser.ts";
import { answer } from "../helpers/run-events.ts";
import { scriptedUi } from "../helpers/scripted-ui.ts";
import { until } from "../helpers/until.ts";

const SLOW_MS = 60_000;

const plainTexts = (areas: object): readonly string[] =>
  Object.values(areas).flatMap((value: unknown) =>
    typeof value === "string"
      ? [value]
      : typeof value === "object" && value !== null
        ? plainTexts(value)
        : [],
  );

/** English texts that are none in German. */
const ENGLISH = (() => {
  const german = new Set(plainTexts(de));
  return new Set(plainTexts(en).filter((text) => text.length > 3 && !german.has(text)));
})();

/** Lines and labels of a page that are English. */
async function englishOf(page: Page): Promise<readonly string[]> {
  const shown = await page.evaluate(() =>
    [...document.querySelectorAll("body, [aria-label], [title], [placeholder]")].flatMap((element) => [
      ...(element === document.body ? document.body.innerText.split("\n") : []),
      ...["aria-label", "title", "placeholder"].map((name) => element.getAttribute(name) ?? ""),
    ]),
  );
  return shown.filter((text) => ENGLISH.has(text.trim()));
}

describeInBrowser("the language of the page", () => {
  const ui = scriptedUi();

  test(
    "is that of the browser, on every page, and another one can be chosen",
    async () => {
      ui.play(async function* () {
        yield* answer("Gut gesagt");
      });
      const { page, troubles } = await visit(overLan(ui.url()), { locale: "de-AT" }); // no secure context
      expect(await page.evaluate(() => isSecureContext)).toBe(false);
      await page.getByText(de.chat.start).waitFor();
      expect(await page.evaluate(() => document.documentElement.lang)).toBe("de");
      await page.evaluate(() => {
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File(["Gutes"], "gut.txt", { type: "text/plain" }));
        dispatchEvent(new DragEvent("drop", { dataTransfer, cancelable: true }));
      });
      await page.getByLabel(de.common.removeNamed("gut.txt")).click();
      await page.getByLabel(de.composer.message).fill("Sag etwas Gutes");
      await page.keyboard.press("Enter");
      await page.getByLabel(de.answer.regenerate).waitFor();
      await page.getByLabel(de.chat.settings).first().click();
      await page.getByText(de.settings.sampling).first().waitFor();
      await page.getByText(de.settings.insecure).waitFor();
      expect(await englishOf(page)).toEqual([]);
      expect(await violations(page)).toEqual([]);
      for (const name of ["images", "speech", "models", "metrics", "system"] as const) {
        await page.getByRole("link", { name: de.pages[name] }).click();
        await page.getByRole("heading", { name: de.pages[name], exact: true, level: 1 }).waitFor();
        expect([name, await englishOf(page)]).toEqual([name, []]);
      }
      await page.getByLabel(de.keys.title).click();
      await page.getByText(de.keys.search).waitFor();
      expect(await englishOf(page)).toEqual([]);
      await page.getByLabel(de.common.close).click();
      await page.locator(".item a").first().click();
      await page.getByLabel(de.settings.language, { exact: true }).selectOption("en");
      await page.getByText(en.settings.sampling).first().waitFor();
      await page.getByRole("heading", { name: en.list.today }).waitFor();
      await page.reload();
      await page.getByLabel(en.composer.message).waitFor();
      await until("the document has its language", () =>
        page.evaluate(() => document.documentElement.lang === "en"),
      );
      expect(troubles).toEqual([]);
    },
    SLOW_MS,
  );
});
