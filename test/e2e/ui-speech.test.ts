// Speech in the web interface of the compiled executable, with its built-in voice.

import { expect, test } from "bun:test";
import { fileServer } from "../helpers/binary.ts";
import { describeInBrowser, say, visit } from "../helpers/browser.ts";
import { CAPITAL } from "../helpers/chat-client.ts";
import { loudness } from "../helpers/sound.ts";

const SLOW_MS = 60_000;
const HEAD_BYTES = 44;

describeInBrowser("speech in the web interface of the executable", () => {
  const server = fileServer();

  test(
    "is played and can be downloaded",
    async () => {
      const { page, troubles } = await visit(server().url);
      await page.getByRole("link", { name: "Speech" }).click();
      expect(await page.getByLabel("Voice").innerText()).toContain("Default: svc-voice");
      await page.getByLabel("Text to speak").fill("Hello there.");
      await page.getByRole("button", { name: "Speak" }).click();
      await page.getByText(/^Finished, .* total\.$/).waitFor();
      const download = page.waitForEvent("download");
      await page.getByRole("button", { name: "Download" }).click();
      const wav = await Bun.file(await (await download).path()).arrayBuffer();
      const samples = new Int16Array(wav.slice(HEAD_BYTES));
      expect(samples.length).toBeGreaterThan(5000);
      expect(loudness(samples)).toBeGreaterThan(300);
      expect(troubles).toEqual([]);
    },
    SLOW_MS,
  );

  test(
    "is stopped in the middle of a long text",
    async () => {
      const { page } = await visit(server().url);
      await page.getByRole("link", { name: "Speech" }).click();
      await page.getByLabel("Text to speak").fill("One sentence after the other is said. ".repeat(50));
      await page.getByRole("button", { name: "Speak" }).click();
      await page.getByText(/^Playing/).waitFor();
      await page.getByRole("button", { name: "Stop" }).click();
      await page.getByText("Stopped.").waitFor();
    },
    SLOW_MS,
  );

  test(
    "reads an answer aloud",
    async () => {
      const { page } = await visit(server().url);
      await say(page, CAPITAL.content);
      await page.getByLabel("Read aloud").click();
      await page.getByLabel("Stop reading").waitFor();
      await page.getByLabel("Read aloud").waitFor(); // to its end
      expect(await page.getByText("Could not read").count()).toBe(0);
    },
    SLOW_MS,
  );
});
