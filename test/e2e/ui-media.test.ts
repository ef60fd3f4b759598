// Images and audio in the web interface of the compiled executable: the model card decides how they are sent. The projector
// has random weights, so only the existence of an answer is checked.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { launchServer, newFolder, type Server } from "../helpers/binary.ts";
import { chooseModel, describeInBrowser, say, visit } from "../helpers/browser.ts";
import { checkered, tone } from "../helpers/drawn-media.ts";
import { until } from "../helpers/until.ts";
import { tinyMmproj } from "../helpers/tiny-mmproj.ts";

const SLOW_MS = 60_000;

describeInBrowser("image and audio attachments in the web interface of the executable", () => {
  let server: Server;
  beforeAll(async () => {
    const cwd = newFolder();
    const sees = `[[models]]\nmodel_id = "svc-tiny"\nalias = "sees"\nkind = "multimodal"\nformat.mmproj = "${tinyMmproj()}"\n`;
    const reads = `[[models]]\nmodel_id = "svc-tiny"\nalias = "reads"\n`;
    writeFileSync(join(cwd, "svc.toml"), sees + reads);
    server = await launchServer(["svc.toml"], { cwd });
  }, SLOW_MS);
  afterAll(async () => void (await server.stop()));

  const attach = (page: Page, name: string, mimeType: string, buffer: Buffer) =>
    page.getByLabel("Files to attach").setInputFiles({ name, mimeType, buffer });

  test(
    "are answered by a model that accepts them, and are in its session",
    async () => {
      const { page, troubles } = await visit(server.url);
      await page.getByLabel("Conversation settings").first().click();
      await page.getByLabel("Max tokens").fill("4");
      await page.getByLabel("Use a session for this conversation").check();
      const session = await page.locator(".panel code").innerText();
      await attach(page, "board.png", "image/png", checkered());
      await page.getByLabel("Remove board.png").waitFor();
      await until(
        "the card is loaded",
        async () => !(await page.locator(".chip").innerText()).includes("model"),
      );
      await attach(page, "tone.wav", "audio/wav", tone(440));
      await page.getByLabel("Remove tone.wav").waitFor();
      await say(page, "What is it?");
      expect(await page.getByRole("alert").allInnerTexts()).toEqual([]);
      const other = await visit(server.url);
      await other.page.getByLabel("Conversation settings").first().click();
      await other.page.getByLabel("Session id").fill(session);
      await other.page.getByRole("button", { name: "Open", exact: true }).click();
      await other.page.getByLabel("Enlarge image.png").waitFor();
      await other.page.getByLabel("audio.wav").waitFor();
      expect(troubles).toEqual([]);
    },
    SLOW_MS,
  );

  test(
    "are sent as files to a model that does not accept them",
    async () => {
      const { page } = await visit(server.url);
      await chooseModel(page, "reads");
      await attach(page, "board.png", "image/png", checkered());
      await page.getByText("sent as a file: this model has no image input").waitFor();
      await say(page, "What is it?");
      expect(await page.getByRole("alert").allInnerTexts()).toEqual([]);
    },
    SLOW_MS,
  );
});
