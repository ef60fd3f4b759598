// Speech in a browser, against a fake server. Playback is checked by the clock of the player.

import { describe, expect, test } from "bun:test";
import type { BrowserContextOptions } from "playwright-core";
import { speakable } from "../../ui/view/speakable.ts";
import { describeInBrowser, say, visit, violationsInColors } from "../helpers/browser.ts";
import { answer } from "../helpers/run-events.ts";
import { scriptedUi } from "../helpers/scripted-ui.ts";
import { until } from "../helpers/until.ts";

const SLOW_MS = 60_000;
const RATE = 8000;

/** A tone of 16-bit samples. */
function tone(secs: number): Uint8Array {
  return new Uint8Array(Int16Array.from({ length: RATE * secs }, (_, at) => 8000 * Math.sin(at / 4)).buffer);
}

function streamOf(chunks: AsyncIterator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    pull: async (controller) => {
      const { done, value } = await chunks.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
  });
}

describe("text for speech", () => {
  test.each([
    [
      "# Title\n\nSome *soft* and **loud** `code` &amp; [a link](https://a.example).",
      "Title\n\nSome soft and loud code & a link.",
    ],
    ["- one\n- two\n  - inner", "one.\ntwo\ninner."],
    ["| a | b |\n|---|---|\n| 1 | 2 |", "a, b.\n1, 2."],
    ["Before\n\n```js\nlet a;\n```\n\n---\n\n$$x^2$$\n\nafter", "Before\n\nafter"],
    ["```js\nlet a;\n```", ""],
  ])("of %j", (markdown, expected) => {
    expect(speakable(markdown)).toBe(expected);
  });
});

describeInBrowser("speech", () => {
  const ui = scriptedUi();
  const sent: Record<string, unknown>[] = [];

  /** A server with voices; `chunks` yields the response of each request. */
  async function open(
    chunks: (signal: AbortSignal) => AsyncIterator<Uint8Array> | Response,
    options: BrowserContextOptions = {},
  ) {
    sent.length = 0;
    ui.route("/api-doc/openapi.json", () => Response.json({ paths: { "/v1/audio/speech": {} } }));
    ui.route("/v1/models", () =>
      Response.json({
        object: "list",
        data: [
          { id: "tiny", kind: "text" },
          { id: "anna", kind: "speech" },
          { id: "ben", kind: "speech" },
        ],
      }),
    );
    ui.route("/v1/audio/speech", async (request) => {
      sent.push((await request.json()) as Record<string, unknown>);
      const made = chunks(request.signal);
      if (made instanceof Response) return made;
      const headers = { "content-type": "audio/pcm", "x-audio-sample-rate": String(RATE) };
      return new Response(streamOf(made), { headers });
    });
    return visit(ui.url(), options);
  }

  test(
    "is played while it arrives, and downloaded",
    async () => {
      const rest = Promise.withResolvers<void>();
      const { page, troubles } = await open(async function* () {
        const sound = tone(0.4);
        yield sound.subarray(0, 3001); // cuts a sample in two
        await rest.promise;
        yield sound.subarray(3001);
      });
      await page.getByRole("link", { name: "Speech" }).click();
      await page.getByLabel("Text to speak").fill("Hello there.");
      await page.getByLabel("Voice").selectOption("ben");
      await page.getByRole("button", { name: "Speak" }).click();
      await page.getByText("Playing while generating…").waitFor();
      expect(await page.getByRole("button", { name: "Download" }).isDisabled()).toBe(true);
      rest.resolve();
      await page.getByText("Finished, 400 ms total.").waitFor();
      expect(sent).toEqual([{ input: "Hello there.", model: "ben", response_format: "pcm" }]);
      const download = page.waitForEvent("download");
      await page.getByRole("button", { name: "Download" }).click();
      const wav = Buffer.from(await Bun.file(await (await download).path()).bytes());
      expect([wav.toString("latin1", 0, 4), wav.readUInt32LE(24)]).toEqual(["RIFF", RATE]);
      expect(wav.subarray(44)).toEqual(Buffer.from(tone(0.4)));
      expect(troubles).toEqual([]);
    },
    SLOW_MS,
  );

  test(
    "stops at Esc and aborts the request",
    async () => {
      const left = Promise.withResolvers<void>();
      const { page } = await open(async function* (signal) {
        signal.addEventListener("abort", () => left.resolve());
        yield tone(0.1);
        await left.promise;
      });
      await page.getByRole("link", { name: "Speech" }).click();
      await page.getByLabel("Text to speak").fill("On and on");
      await page.getByLabel("Text to speak").press("Control+Enter");
      await page.getByText("Playing while generating…").waitFor();
      await page.keyboard.press("Escape");
      await page.getByText("Stopped.").waitFor();
      await left.promise;
      expect(sent).toEqual([{ input: "On and on", response_format: "pcm" }]);
    },
    SLOW_MS,
  );

  test(
    "stops also after all audio has arrived",
    async () => {
      const { page } = await open(async function* () {
        yield tone(20);
      });
      await page.getByRole("link", { name: "Speech" }).click();
      await page.getByLabel("Text to speak").fill("A long text");
      await page.getByRole("button", { name: "Speak" }).click();
      await page.getByText("Playing, 20.0 s total.").waitFor();
      await page.getByRole("button", { name: "Stop" }).click();
      await page.getByText("Stopped.").waitFor();
      expect(await page.getByRole("button", { name: "Download" }).isEnabled()).toBe(true);
    },
    SLOW_MS,
  );

  test(
    "of an answer is started and stopped by its button; an error is shown",
    async () => {
      let refuses = false;
      const { page } = await open(() => {
        if (refuses) return Response.json({ error: { message: "too long" } }, { status: 400 });
        return (async function* () {
          yield tone(20);
        })();
      });
      ui.play(async function* () {
        yield* answer("It **is**.\n\n```\ncode\n```");
      });
      await say(page, "Is it?");
      await page.getByLabel("Read aloud").click();
      await page.getByLabel("Stop reading").click();
      await page.getByLabel("Read aloud").waitFor();
      expect(sent).toEqual([{ input: "It is.", response_format: "pcm" }]);
      refuses = true;
      await page.getByLabel("Read aloud").click();
      await page.getByText("Could not read aloud: too long").waitFor();
    },
    SLOW_MS,
  );

  test(
    "is accessible and fits a phone",
    async () => {
      const phone = { viewport: { width: 360, height: 740 }, isMobile: true };
      const { page } = await open(
        () => Response.json({ error: { message: "No voice today" } }, { status: 500 }),
        { ...phone, bypassCSP: true },
      );
      await page.goto(`${ui.url()}/ui/#/speech`);
      expect(await violationsInColors(page)).toEqual([]);
      await page.getByLabel("Text to speak").fill("Hello");
      await page.getByRole("button", { name: "Speak" }).click();
      expect(await page.getByRole("alert").innerText()).toBe("No voice today");
      expect(await violationsInColors(page)).toEqual([]);
      const box = page.locator(".page");
      await until("it fits", () => box.evaluate((page) => page.scrollWidth <= page.clientWidth));
    },
    SLOW_MS,
  );
});
