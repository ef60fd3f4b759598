// The thread and the box below it, as a person meets them: what is in view, and how wide, with a clean console.

import { expect, test } from "bun:test";
import { blankPage, describeInBrowser, say, visit } from "../helpers/browser.ts";
import { answer } from "../helpers/run-events.ts";
import { scriptedUi } from "../helpers/scripted-ui.ts";
import { until } from "../helpers/until.ts";

const SLOW_MS = 60_000;

describeInBrowser("the thread", () => {
  const ui = scriptedUi();

  test(
    "shows its end at a question, also where a person has scrolled up",
    async () => {
      ui.play(async function* () {
        yield* answer("A line.\n\n".repeat(80));
      });
      const { page } = await visit(ui.url());
      await say(page, "Go on");
      const thread = page.locator(".thread");
      await thread.evaluate((box) => (box.scrollTop = 0));
      await page.getByLabel("Scroll to the end").waitFor();
      await say(page, "And now?");
      const below = () => thread.evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight);
      await until("the end is in view", async () => (await below()) < 60);
    },
    SLOW_MS,
  );

  test(
    "text of a script from the right stands at the right, its list, too",
    async () => {
      ui.play(async function* () {
        yield* answer("مرحبا بالعالم.\n\n- أول\n- ثان\n\nAnd English.");
      });
      const { page } = await visit(ui.url());
      await say(page, "ما هو الطقس؟");
      // From the middle of the line to that of its text, pixels: above 0 at the right.
      const side = (selector: string, at: number) =>
        page
          .locator(selector)
          .nth(at)
          .evaluate((one) => {
            const range = document.createRange();
            range.selectNodeContents(one);
            const [text, line] = [range.getBoundingClientRect(), one.getBoundingClientRect()];
            return (text.left + text.right - line.left - line.right) / 2;
          });
      expect(await side(".answer p", 0)).toBeGreaterThan(100);
      expect(await side(".answer p", 1)).toBeLessThan(-100);
      expect(await side(".answer li", 0)).toBeGreaterThan(100);
      const inset = await page
        .locator(".answer ul")
        .evaluate(
          (one) =>
            one.getBoundingClientRect().right - (one.firstElementChild?.getBoundingClientRect().right ?? 0),
        );
      expect(inset).toBeGreaterThan(10); // the marker's place
    },
    SLOW_MS,
  );

  test(
    "a small phone has the box for a question in its whole width",
    async () => {
      const { page } = await visit(ui.url(), { viewport: { width: 320, height: 600 } });
      const width = (selector: string) => page.locator(selector).evaluate((one) => one.clientWidth);
      expect(await width(".composer-row textarea")).toBeGreaterThan((await width(".composer-row")) * 0.9);
      expect(await width("body")).toBe(320);
    },
    SLOW_MS,
  );

  test(
    "a visit writes no error to the console",
    async () => {
      const page = await blankPage();
      const errors: string[] = [];
      page.on("console", (message) => {
        if (message.type() === "error") errors.push(`${message.text()} ${message.location().url}`);
      });
      await page.goto(`${ui.url()}/ui/`);
      await say(page, "Hello");
      await page.reload();
      await page.locator(".answer").waitFor();
      await page.waitForLoadState("networkidle");
      expect(errors).toEqual([]);
    },
    SLOW_MS,
  );
});
