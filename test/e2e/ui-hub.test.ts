// A first visit to the executable's web interface: find a model on the hub, download it, talk with it, delete it.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { newFolder, startServer, TINY_FILE } from "../helpers/binary.ts";
import { describeInBrowser, say, violations, visit } from "../helpers/browser.ts";
import { CAPITAL } from "../helpers/chat-client.ts";
import { fakeHub } from "../helpers/fake-hub.ts";
import { until } from "../helpers/until.ts";

const SLOW_MS = 120_000;
const ID = "acme/tiny-GGUF:Q8_0";

describeInBrowser("a model of the hub", () => {
  test(
    "is found, downloaded, used and deleted on the page",
    async () => {
      const tiny = new Uint8Array(readFileSync(TINY_FILE));
      const hub = fakeHub({ "acme/tiny-GGUF": { files: { "tiny-Q8_0.gguf": tiny } } });
      const { url } = await startServer([], { env: { HF_ENDPOINT: hub.url, HF_HOME: newFolder() } });
      const { page, troubles } = await visit(url);
      await page.getByRole("region", { name: "Models for this machine" }).waitFor();
      await page.getByRole("link", { name: "Find other models" }).click();
      await page.getByLabel("Search the hub").fill("tiny");
      await page.getByRole("button", { name: "acme/tiny-GGUF" }).click();
      await page.getByText("fits", { exact: true }).waitFor();
      await page.getByLabel(`Download ${ID}`).click();
      await page.getByText(`${ID} is ready.`).waitFor();
      expect(await violations(page)).toEqual([]);
      await page.getByRole("button", { name: "Use it" }).click();
      expect(await page.getByLabel("Model", { exact: true }).inputValue()).toBe(ID);
      await say(page, CAPITAL.content);
      expect(await page.locator(".answer .markdown").innerText()).toBe(CAPITAL.answer);
      await page.getByRole("link", { name: "Models", exact: true }).click();
      await page.getByRole("button", { name: `Pin ${ID}` }).click();
      await page.getByRole("button", { name: `Pin ${ID}`, pressed: true }).click();
      await page.getByRole("button", { name: `Pin ${ID}`, pressed: false }).waitFor();
      await page.getByLabel(`Delete ${ID}`).click();
      await page.getByRole("button", { name: /^Delete \d/ }).click();
      const card = page.getByRole("region", { name: ID });
      await until("it is gone", async () => (await card.count()) === 0);
      expect(troubles).toEqual([]);
    },
    SLOW_MS,
  );
});
