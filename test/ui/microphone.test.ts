// The microphone, for models that hear: recorded and sent as audio; a sentence where the browser forbids it.

import { expect, test } from "bun:test";
import { describeInBrowser, overLan, say, visit } from "../helpers/browser.ts";
import { answer } from "../helpers/run-events.ts";
import { scriptedUi } from "../helpers/scripted-ui.ts";

const SLOW_MS = 60_000;

describeInBrowser("the microphone", () => {
  const ui = scriptedUi();
  const setModalities = (modalities: readonly string[]): void =>
    ui.route("/v1/models", () => Response.json({ data: [{ id: "tiny", status: "loaded", modalities }] }));

  test(
    "records a message that the model gets as WAV",
    async () => {
      setModalities(["audio"]);
      let sent: unknown;
      ui.play(async function* ({ run }) {
        if (run.prompt.type === "chat") sent = run.prompt.messages.at(-1)?.content;
        yield* answer("I hear you");
      });
      const { page, troubles } = await visit(ui.url(), { permissions: ["microphone"] });
      await page.getByLabel("Record with the microphone").click();
      await page.getByLabel("Stop the microphone").waitFor();
      await page.waitForFunction(() => performance.now() > 0); // a frame of the page, so that there is sound
      await page.getByLabel("Stop the microphone").click();
      await page.getByLabel(/^Remove audio/).waitFor();
      await say(page, "Listen");
      expect(JSON.stringify(sent)).toContain("audio");
      expect(troubles).toEqual([]);
    },
    SLOW_MS,
  );

  test(
    "is not offered for a model that does not hear, and explained on plain HTTP in a local network",
    async () => {
      setModalities([]);
      const deaf = await visit(ui.url());
      await deaf.page.getByLabel("Attach files").waitFor();
      await deaf.page.getByText("tiny").first().waitFor({ state: "attached" });
      expect(await deaf.page.getByLabel("Record with the microphone").count()).toBe(0);
      setModalities(["audio"]);
      const { page } = await visit(overLan(ui.url()));
      await page.getByLabel("Record with the microphone").click();
      await page.getByText("over HTTPS or on this machine").waitFor();
    },
    SLOW_MS,
  );
});
