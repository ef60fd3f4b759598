// Image and audio attachments in a browser, against a fake server.

import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { describeInBrowser, say, visit, violationsInColors } from "../helpers/browser.ts";
import { mediaFixture } from "../helpers/media-fixtures.ts";
import { scriptedUi } from "../helpers/scripted-ui.ts";

const SLOW_MS = 60_000;

interface Sent {
  readonly messages: readonly {
    readonly content: readonly {
      readonly type: string;
      readonly image_url?: { readonly url: string };
      readonly input_audio?: { readonly data: string; readonly format: string };
      readonly file?: { readonly filename: string; readonly file_data: string };
    }[];
  }[];
}

/** A tenth of a second of a tone, as a WAV file with two channels. */
function beep(): Buffer {
  const head = Buffer.from("RIFF....WAVEfmt ....................data....");
  const samples = Int16Array.from({ length: 8820 }, (_, at) => 9000 * Math.sin(at / 20));
  head.writeUInt32LE(36 + samples.byteLength, 4);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(2, 22);
  head.writeUInt32LE(44_100, 24);
  head.writeUInt32LE(44_100 * 4, 28);
  head.writeUInt16LE(4, 32);
  head.writeUInt16LE(16, 34);
  head.writeUInt32LE(samples.byteLength, 40);
  return Buffer.concat([head, Buffer.from(samples.buffer)]);
}

describeInBrowser("image and audio attachments", () => {
  const ui = scriptedUi();
  const bodies: Sent[] = [];
  const lastParts = () => bodies.at(-1)?.messages.at(-1)?.content ?? [];

  /** A server whose model accepts these modalities; undefined: unknown. */
  async function open(modalities: readonly string[] | undefined, options = {}, card = {}): Promise<Page> {
    ui.route("/v1/models", () =>
      Response.json({ object: "list", data: [{ id: "tiny", status: "loaded", modalities, ...card }] }),
    );
    ui.route("/v1/chat/completions", async (request) => {
      bodies.push((await request.json()) as Sent);
      const chunk = { choices: [{ index: 0, delta: { content: "I see." }, finish_reason: "stop" }] };
      const stream = `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`;
      return new Response(stream, { headers: { "content-type": "text/event-stream" } });
    });
    const { page } = await visit(ui.url(), options);
    await page.getByText("Default: tiny").waitFor({ state: "attached" });
    await page.getByLabel("Message").waitFor();
    return page;
  }

  /** Creates an image in the page and dispatches it as a paste or drop event. */
  async function hand(page: Page, how: "paste" | "drop", name: string, type: string): Promise<void> {
    await page.evaluate(
      async ([event, fileName, mime]) => {
        const canvas = new OffscreenCanvas(40, 20);
        const context = canvas.getContext("2d");
        context?.fillRect(5, 5, 10, 10);
        const transfer = new DataTransfer();
        transfer.items.add(new File([await canvas.convertToBlob({ type: mime })], fileName, { type: mime }));
        const target = document.getElementById("composer");
        target?.dispatchEvent(
          event === "paste"
            ? new ClipboardEvent("paste", { clipboardData: transfer, bubbles: true, cancelable: true })
            : new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }),
        );
      },
      [how, name, type] as const,
    );
    await page.getByLabel(`Remove ${name}`).waitFor();
  }

  test(
    "are dropped and pasted, sent unchanged, shown, and restored after a reload",
    async () => {
      const page = await open(["image"]);
      await hand(page, "drop", "dropped.png", "image/png");
      await hand(page, "paste", "pasted.jpg", "image/jpeg");
      expect(await page.getByText("requires a model").count()).toBe(0);
      await say(page, "What is it?");
      expect(lastParts().map(({ type, image_url: image }) => [type, image?.url.slice(0, 22)])).toEqual([
        ["image_url", "data:image/png;base64,"],
        ["image_url", "data:image/jpeg;base64"],
        ["text", undefined],
      ]);
      const widths = () =>
        page
          .locator(".question .thumbnail img")
          .evaluateAll((all) => all.map((image) => (image as HTMLImageElement).naturalWidth));
      expect(await widths()).toEqual([40, 40]);
      await page.getByLabel("Enlarge dropped.png").click();
      await page.getByRole("dialog", { name: "dropped.png" }).getByRole("img").waitFor();
      await page.keyboard.press("Escape");
      await page.reload();
      await page.getByLabel("Enlarge pasted.jpg").waitFor();
      expect(await widths()).toEqual([40, 40]);
    },
    SLOW_MS,
  );

  test(
    "are converted by the browser where it can, else by the server, whose formats the page names",
    async () => {
      const media = { image: { formats: ["PNG", "HEIC"], formats_with_ffmpeg: [], max_pixels: 64e6 } };
      const page = await open(["image", "audio"], {}, { media });
      expect(await page.getByLabel("Attach files").getAttribute("title")).toContain("Images: PNG, HEIC");
      await page.getByLabel("Files to attach").setInputFiles([
        { name: "phone.HEIC", mimeType: "", buffer: Buffer.from(mediaFixture("quarters.heic")) },
        { name: "photo.jxl", mimeType: "image/jxl", buffer: Buffer.from([0xff, 0x0a, 0, 1]) },
      ]);
      await page.getByText("only its name is sent: this format is not read; PNG, HEIC are").waitFor();
      await hand(page, "paste", "shot.webp", "image/webp");
      await page
        .getByLabel("Files to attach")
        .setInputFiles([{ name: "beep.ogg", mimeType: "audio/ogg", buffer: beep() }]);
      await page.getByLabel("Remove beep.ogg").waitFor();
      await say(page, "What is it?");
      const parts = lastParts();
      const urls = parts.flatMap(({ image_url: image }) => image?.url.slice(0, 15) ?? []);
      expect(urls.toSorted()).toEqual(["data:image/heic", "data:image/jpeg"]);
      const sound = parts.find(({ type }) => type === "input_audio")?.input_audio;
      expect(sound?.format).toBe("wav");
      const wav = Buffer.from(sound?.data ?? "", "base64");
      const [channels, rate, bytes] = [wav.readUInt16LE(22), wav.readUInt32LE(24), wav.readUInt32LE(40)];
      expect([channels, rate]).toEqual([1, 16_000]);
      expect(Math.abs(bytes / 2 - 1600)).toBeLessThan(10); // a tenth of a second
      expect(wav.length).toBe(44 + bytes);
      expect(parts.find(({ type }) => type === "file")?.file?.filename).toBe("photo.jxl");
      const player = page.getByLabel("beep.ogg");
      await player.evaluate(async (element) => {
        const audio = element as HTMLAudioElement;
        if (Number.isNaN(audio.duration))
          await new Promise((resolve) => audio.addEventListener("loadedmetadata", resolve, { once: true }));
        if (audio.error !== null) throw new Error(audio.error.message);
      });
    },
    SLOW_MS,
  );

  test(
    "are sent as files to a model that does not accept them, with a notice before",
    async () => {
      const page = await open([]);
      await hand(page, "paste", "photo.png", "image/png");
      await page.getByText("sent as a file: this model has no image input").waitFor();
      await say(page, "Convert it.");
      expect(lastParts().map(({ type, file }) => [type, file?.filename])).toEqual([
        ["file", "photo.png"],
        ["text", undefined],
      ]);
    },
    SLOW_MS,
  );

  test(
    "follow the current model card",
    async () => {
      const page = await open(undefined);
      const setCard = (card: object) =>
        ui.route("/v1/models", () => Response.json({ object: "list", data: [{ id: "tiny", ...card }] }));
      setCard({ status: "reloading" });
      await hand(page, "paste", "photo.png", "image/png");
      await page.getByText("requires a model with image input").waitFor();
      setCard({ status: "loaded", modalities: ["audio"] });
      await page.getByText("sent as a file: this model has no image input").waitFor();
    },
    SLOW_MS,
  );

  test(
    "are sent as media if the modalities are unknown, and the server's error is shown",
    async () => {
      const page = await open(undefined);
      await hand(page, "paste", "photo.png", "image/png");
      await page.getByText("requires a model with image input").waitFor();
      ui.route("/v1/chat/completions", () =>
        Response.json(
          { error: { code: "unsupported_capability", message: "no images here" } },
          { status: 400 },
        ),
      );
      await say(page, "What is it?");
      expect(await page.getByRole("alert").innerText()).toBe("no images here");
    },
    SLOW_MS,
  );

  test(
    "are accessible",
    async () => {
      const page = await open(["image", "audio"], { bypassCSP: true });
      await hand(page, "drop", "a.png", "image/png");
      expect(await violationsInColors(page)).toEqual([]);
      await page
        .getByLabel("Files to attach")
        .setInputFiles({ name: "b.wav", mimeType: "audio/wav", buffer: Buffer.from("RIFF") });
      await page.getByLabel("Remove b.wav").waitFor();
      await say(page, "What is it?");
      expect(await violationsInColors(page)).toEqual([]);
      await page.getByLabel("Enlarge a.png").click();
      expect(await violationsInColors(page)).toEqual([]);
    },
    SLOW_MS,
  );
});
