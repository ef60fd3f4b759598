// The image page in a browser, against a fake server.

import { expect, test } from "bun:test";
import type { BrowserContextOptions } from "playwright-core";
import { describeInBrowser, visit, violationsInColors } from "../helpers/browser.ts";
import { scriptedUi } from "../helpers/scripted-ui.ts";
import { until } from "../helpers/until.ts";

/** One red pixel. */
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const SLOW_MS = 60_000;
const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true };

describeInBrowser("image page", () => {
  const ui = scriptedUi();
  const sent: Record<string, unknown>[] = [];
  const drawn = (): Response =>
    Response.json({ created: 1, data: [{ b64_json: `data:image/png;base64,${PNG}` }] });

  /** A server with image models; `answer` handles the generation requests. */
  async function open(
    answer: (request: Request) => Response | Promise<Response>,
    options: BrowserContextOptions = {},
    kinds: readonly string[] = ["text", "image", "image"],
  ) {
    sent.length = 0;
    ui.route("/api-doc/openapi.json", () => Response.json({ paths: { "/v1/images/generations": {} } }));
    ui.route("/v1/models", () =>
      Response.json({ object: "list", data: kinds.map((kind, at) => ({ id: `${kind}-${at}`, kind })) }),
    );
    ui.route("/v1/images/generations", async (request) => {
      sent.push((await request.clone().json()) as Record<string, unknown>);
      return answer(request);
    });
    const visited = await visit(ui.url(), options);
    await visited.page.goto(`${ui.url()}/ui/#/images`);
    await visited.page.getByLabel("Prompt", { exact: true }).waitFor();
    return visited;
  }

  test(
    "sends the selected options, shows the images, and keeps them over a reload",
    async () => {
      const { page, troubles } = await open(drawn);
      expect(await page.getByLabel("Model").locator("option").allInnerTexts()).toEqual([
        "Default: image-1",
        "image-1",
        "image-2",
      ]);
      await page.getByLabel("Prompt", { exact: true }).fill("A red dot");
      await page.getByLabel("Size").selectOption("Custom size");
      await page.getByLabel("Width").fill("64");
      await page.getByLabel("Height").fill("32");
      await page.getByLabel("Number of images").fill("2");
      await page.getByLabel("Model").selectOption("image-2");
      await page.getByLabel("Prompt", { exact: true }).press("Control+Enter");
      await page.getByLabel("Enlarge A red dot").nth(1).waitFor();
      const body = {
        prompt: "A red dot",
        model: "image-2",
        width: 64,
        height: 32,
        n: 1,
        response_format: "B64Json",
      };
      expect(sent).toEqual([body, body]);
      await page.reload();
      await page.getByLabel("Enlarge A red dot").nth(1).waitFor();
      expect(await page.getByLabel("Width").inputValue()).toBe("64");
      const download = page.waitForEvent("download");
      await page.getByLabel("Download A red dot").first().click();
      const file = await download;
      expect(file.suggestedFilename()).toBe("a-red-dot.png");
      expect(Buffer.from(await Bun.file(await file.path()).bytes()).toString("base64")).toBe(PNG);
      await page.getByLabel("Delete A red dot").first().click();
      await until("one is left", async () => (await page.locator(".gallery-item").count()) === 1);
      await page.getByRole("button", { name: "Undo" }).click();
      await page.getByLabel("Enlarge A red dot").nth(1).waitFor();
      await page.getByLabel("Reuse prompt: A red dot").first().click();
      expect(await page.getByLabel("Prompt", { exact: true }).inputValue()).toBe("A red dot");
      const exporting = page.waitForEvent("download");
      await page.getByLabel("Export everything").click();
      const buffer = Buffer.from(await Bun.file(await (await exporting).path()).bytes());
      for (const left of [1, 0]) {
        await page.getByLabel("Delete A red dot").first().click();
        await until("it is deleted", async () => (await page.locator(".gallery-item").count()) === left);
      }
      const chooser = page.waitForEvent("filechooser");
      await page.getByLabel("Import conversations").click();
      await (await chooser).setFiles({ name: "all.json", mimeType: "application/json", buffer });
      await page.getByText("Imported 0 conversations and 2 images.").waitFor();
      await page.reload();
      await page.getByLabel("Enlarge A red dot").nth(1).waitFor();
      expect(troubles).toEqual([]);
    },
    SLOW_MS,
  );

  test(
    "shows progress, and keeps finished images when stopped",
    async () => {
      const gone = Promise.withResolvers<void>();
      const { page } = await open((request) => {
        if (sent.length === 1) return drawn();
        return new Promise((_, reject) => {
          request.signal.addEventListener("abort", () => {
            gone.resolve();
            reject(new Error("the client left"));
          });
        });
      });
      await page.getByLabel("Prompt", { exact: true }).fill("A dot");
      await page.getByLabel("Number of images").fill("3");
      await page.getByRole("button", { name: "Generate" }).click();
      await page.getByText("Generating image 2 of 3").waitFor();
      await page.keyboard.press("Escape");
      await gone.promise;
      await page.getByRole("button", { name: "Generate" }).waitFor();
      expect(await page.locator(".gallery-item").count()).toBe(1);
      expect(await page.getByRole("alert").count()).toBe(0);
      expect(sent).toHaveLength(2);
    },
    SLOW_MS,
  );

  test(
    "shows errors of the server",
    async () => {
      const { page } = await open(() =>
        Response.json(
          { error: { code: "invalid_request", message: "width must be at most 2048" } },
          { status: 400 },
        ),
      );
      await page.getByLabel("Prompt", { exact: true }).fill("A dot");
      await page.getByRole("button", { name: "Generate" }).click();
      expect(await page.getByRole("alert").innerText()).toBe("width must be at most 2048");
    },
    SLOW_MS,
  );

  test(
    "shows a notice without an image model, and is hidden without the route",
    async () => {
      const { page } = await open(drawn, {}, ["text"]);
      await page.getByText("has no image model").waitFor();
      expect(await page.getByRole("link", { name: "Images" }).count()).toBe(1);
      ui.route("/api-doc/openapi.json", () => Response.json({ paths: {} }));
      await page.goto(`${ui.url()}/ui/#/models`);
      await page.reload();
      await page.getByText("text-0").waitFor();
      expect(await page.getByRole("link", { name: "Images" }).count()).toBe(0);
    },
    SLOW_MS,
  );

  test(
    "is accessible and fits a phone",
    async () => {
      const { page } = await open(drawn, { ...PHONE, bypassCSP: true });
      expect(await violationsInColors(page)).toEqual([]);
      await page.getByLabel("Size").selectOption("Custom size");
      await page.getByLabel("Prompt", { exact: true }).fill("long".repeat(60));
      await page.getByRole("button", { name: "Generate" }).tap();
      await page.locator(".gallery-item").waitFor();
      expect(await violationsInColors(page)).toEqual([]);
      expect(
        await page.locator("main").evaluate((main) => main.scrollWidth - innerWidth),
      ).toBeLessThanOrEqual(0);
      const column = page.locator(".page");
      expect(await column.evaluate((box) => box.scrollWidth - box.clientWidth)).toBeLessThanOrEqual(0);
    },
    SLOW_MS,
  );
});
