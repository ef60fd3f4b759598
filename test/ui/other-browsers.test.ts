// The web interface in Firefox and in WebKitGTK: a conversation, a document, a preview, what is stored.

import { describe, expect, test } from "bun:test";
import { docxOf, pdfOf } from "../helpers/documents.ts";
import { type DrivenPage, violationsOf } from "../helpers/driven-page.ts";
import { FIREFOX, openInFirefox } from "../helpers/firefox.ts";
import { answer } from "../helpers/run-events.ts";
import { scriptedUi } from "../helpers/scripted-ui.ts";
import { until } from "../helpers/until.ts";
import { openInWebKit, WEBKIT_LACKS } from "../helpers/webkit.ts";

const SLOW_MS = 120_000;

if (FIREFOX === null)
  console.warn("SKIPPED: the page in Firefox: install firefox-esr, or set FIREFOX to its path");
const isSlow = process.env["SVC_SLOW_TESTS"] === "1";
const lacking = isSlow ? WEBKIT_LACKS : "SVC_SLOW_TESTS=1";
if (lacking !== undefined) console.warn(`SKIPPED: the page in WebKitGTK: needs ${lacking}`);

const BROWSERS = [
  { name: "Firefox", isThere: FIREFOX !== null, open: openInFirefox },
  { name: "WebKitGTK", isThere: lacking === undefined, open: openInWebKit },
];

describe.each(BROWSERS)("in $name", ({ isThere, open }) => {
  const ui = scriptedUi();
  let asked = "";

  const shows = (page: DrivenPage, text: string, withinMs?: number): Promise<unknown> =>
    until(
      `the page shows ${text}`,
      async () => String(await page.evaluate("document.body?.innerText ?? ''")).includes(text),
      withinMs,
    );
  const click = (page: DrivenPage, label: string): Promise<unknown> =>
    until(
      `${label} is clicked`,
      () =>
        page.evaluate(`(() => {
        const button = document.querySelector('[aria-label=${JSON.stringify(label)}]');
        button?.click();
        return button !== null;
      })()`) as Promise<boolean>,
    );
  const attach = (page: DrivenPage, name: string, content: Uint8Array): Promise<unknown> =>
    page.evaluate(`(() => {
      const bytes = Uint8Array.from(atob("${Buffer.from(content).toString("base64")}"), (one) => one.charCodeAt(0));
      const transfer = new DataTransfer();
      transfer.items.add(new File([bytes], "${name}"));
      const input = document.querySelector("input[type=file]");
      input.files = transfer.files;
      input.dispatchEvent(new Event("change"));
    })()`);

  test.skipIf(!isThere)(
    "a conversation with documents is led, previewed, stored and found again",
    async () => {
      ui.play(async function* ({ run }) {
        asked = JSON.stringify(run.prompt);
        yield* answer("**Fine**\n\n```html\n<p>Hello</p>\n```\n");
      });
      const page = await open(`${ui.url()}/ui/`);
      try {
        await shows(page, "Start a conversation");
        expect(await violationsOf(page)).toEqual([]);
        await attach(page, "two.pdf", pdfOf(["Hello from a PDF"]));
        await shows(page, "1 page");
        await attach(page, "letter.docx", docxOf("<w:p><w:t>Dear reader</w:t></w:p>"));
        await shows(page, "11 characters");
        await page.evaluate("document.getElementById('composer').focus()");
        await page.type("What is it?\uE007");
        await shows(page, "Fine");
        expect(asked).toContain("Hello from a PDF");
        expect(asked).toContain("Dear reader");
        await click(page, "Preview");
        await until(
          "the frame is there",
          () => page.evaluate("document.querySelector('iframe.preview') !== null") as Promise<boolean>,
        );
        expect(await violationsOf(page)).toEqual([]);
        await until("it is stored", async () => {
          await page.run("location.reload()");
          return shows(page, "What is it?", 5000).then(
            () => true,
            () => false,
          );
        });
        await shows(page, "Fine");
      } finally {
        await page.close();
      }
    },
    SLOW_MS,
  );

  test.skipIf(!isThere)(
    "panel, dialogs and pages have no accessibility violations, light and dark",
    async () => {
      const page = await open(`${ui.url()}/ui/`);
      try {
        for (const theme of ["light", "dark"]) {
          await shows(page, "Start a conversation");
          await page.evaluate(`document.documentElement.dataset.theme = "${theme}"`);
          await click(page, "Conversation settings");
          await shows(page, "Sampling");
          expect([theme, await violationsOf(page)]).toEqual([theme, []]);
          await click(page, "Keyboard shortcuts");
          await shows(page, "Focus the message box");
          expect([theme, await violationsOf(page)]).toEqual([theme, []]);
          await click(page, "Close");
          for (const name of ["images", "speech", "models", "metrics", "system"]) {
            await page.evaluate(`void (location.hash = "#/${name}")`);
            await until(
              `${name} is shown`,
              () =>
                page.evaluate(
                  `document.querySelector("h1").textContent.toLowerCase() === "${name}"`,
                ) as Promise<boolean>,
            );
            expect([theme, name, await violationsOf(page)]).toEqual([theme, name, []]);
          }
          await page.evaluate('void (location.hash = "#/")');
          await shows(page, "Start a conversation");
          await click(page, "Close settings");
        }
      } finally {
        await page.close();
      }
    },
    SLOW_MS,
  );
});
