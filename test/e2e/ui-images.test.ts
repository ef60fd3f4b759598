// Image generation in the web interface of the compiled executable, with an image model of random weights.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { decode } from "fast-png";
import type { Page } from "playwright-core";
import { launchServer, newFolder, type Server } from "../helpers/binary.ts";
import { describeInBrowser, visit } from "../helpers/browser.ts";
import { tinyImageModel } from "../helpers/tiny-images.ts";
import { until } from "../helpers/until.ts";

const SLOW_MS = 90_000;

describeInBrowser("images in the web interface of the executable", () => {
  let server: Server;
  beforeAll(async () => {
    const cwd = newFolder();
    const { diffusion, llm, vae } = tinyImageModel();
    const files = `{ diffusion_model = "${diffusion}", llm = "${llm}", vae = "${vae}" }`;
    const model = (alias: string, steps: number): string =>
      `[[models]]\nmodel_id = "${alias}"\nkind = "image"\nformat = ${files}\nimage = { steps = ${steps}, guidance = 1 }\n`;
    writeFileSync(
      join(cwd, "svc.toml"),
      `[[models]]\nmodel_id = "svc-tiny"\n${model("quick", 2)}${model("patient", 200)}`,
    );
    server = await launchServer(["svc.toml"], { cwd });
  }, SLOW_MS);
  afterAll(async () => void (await server.stop()));

  async function open(size: number): Promise<Page> {
    const { page } = await visit(server.url);
    await page.getByRole("link", { name: "Images" }).click();
    await page.getByLabel("Size").selectOption("Custom size");
    await page.getByLabel("Width").fill(String(size));
    await page.getByLabel("Height").fill(String(size));
    await page.getByLabel("Prompt", { exact: true }).fill("A lighthouse");
    return page;
  }

  test(
    "are generated in the requested size, and downloaded",
    async () => {
      const page = await open(64);
      await page.getByLabel("Model").selectOption("quick");
      await page.getByLabel("Number of images").fill("2");
      await page.getByRole("button", { name: "Generate" }).click();
      await page.getByLabel("Enlarge A lighthouse").nth(1).waitFor();
      const download = page.waitForEvent("download");
      await page.getByLabel("Download A lighthouse").first().click();
      const { width, height } = decode(await Bun.file(await (await download).path()).bytes());
      expect([width, height]).toEqual([64, 64]);
    },
    SLOW_MS,
  );

  test(
    "are stopped, and the server generates the next one",
    async () => {
      const page = await open(512);
      await page.getByLabel("Model").selectOption("patient");
      await page.getByRole("button", { name: "Generate" }).click();
      await page.getByText("Generating image").waitFor();
      await page.getByRole("button", { name: "Stop" }).click();
      await page.getByLabel("Width").fill("64");
      await page.getByLabel("Height").fill("64");
      await page.getByLabel("Model").selectOption("quick");
      await page.getByRole("button", { name: "Generate" }).click();
      await page.getByLabel("Enlarge A lighthouse").waitFor();
    },
    SLOW_MS,
  );

  test(
    "that are too large are refused with the server's message",
    async () => {
      const page = await open(8192);
      await page.getByLabel("Model").selectOption("quick");
      await page.getByRole("button", { name: "Generate" }).click();
      expect(await page.getByRole("alert").innerText()).toContain("width");
      await until("one may draw again", () => page.getByRole("button", { name: "Generate" }).isEnabled());
    },
    SLOW_MS,
  );
});
