// A first visit to the executable's web interface: find a model on the hub, download it, talk with it, delete it.

import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { newFolder, startServer, TINY_FILE } from "../helpers/binary.ts";
import { describeInBrowser, say, violations, visit } from "../helpers/browser.ts";
import { CAPITAL } from "../helpers/chat-client.ts";
import { fakeHub } from "../helpers/fake-hub.ts";
import { until } from "../helpers/until.ts";

const SLOW_MS = 120_000;
const ID = "acme/tiny-GGUF:Q8_0";

/** Finds the model, and begins its download. */
async function download(page: Page): Promise<void> {
  await page.getByRole("region", { name: "Models for this machine" }).waitFor();
  await page.getByRole("link", { name: "Find other models" }).click();
  await page.getByLabel("Search the hub").fill("tiny");
  await page.getByRole("button", { name: "acme/tiny-GGUF" }).click();
  await page.getByText("fits", { exact: true }).waitFor();
  await page.getByLabel(`Download ${ID}`).click();
}

describeInBrowser("a model of the hub", () => {
  test(
    "is found, downloaded (killed and resumed), used and deleted on the page",
    async () => {
      const tiny = new Uint8Array(readFileSync(TINY_FILE));
      const hub = fakeHub({ "acme/tiny-GGUF": { files: { "tiny-Q8_0.gguf": tiny } } });
      const env = { HF_ENDPOINT: hub.url, HF_HOME: newFolder() };
      const killed = await startServer([], { env });
      const release = hub.hold();
      await download((await visit(killed.url)).page);
      const blobs = join(env.HF_HOME, "hub/models--acme--tiny-GGUF/blobs");
      const sizes = () =>
        existsSync(blobs) ? readdirSync(blobs).map((name) => statSync(join(blobs, name)).size) : [];
      await until("a part is there", () => sizes().some((bytes) => bytes === 10));
      killed.kill("SIGKILL");
      release();

      const { url } = await startServer([], { env });
      const { page, troubles } = await visit(url);
      await download(page);
      await page.getByText(`${ID} is ready.`).waitFor();
      expect(hub.requests.filter((line) => line.includes("bytes=10-"))).toHaveLength(1);
      expect(await violations(page)).toEqual([]);
      await page.getByRole("button", { name: "Use it" }).click();
      await page.getByRole("button", { name: `Model: ${ID}` }).waitFor(); // the page has to list it first
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
