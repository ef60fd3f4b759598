// Files as people have them, through the executable in every dialect and form of their bytes: what a model would get of each is what
// ImageMagick and ffmpeg make of it, within rounding. A stand-in for another server shows what models get; the engine's own decoder
// is left out, apart from what is converted for it, which sessions show. SVC_SLOW_TESTS=1; files.ts names the packages.

import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileServer, launchServer, newFolder, TINY_FILE } from "../helpers/binary.ts";
import { fakeUpstream } from "../helpers/fake-upstream.ts";
import { mediaFixture } from "../helpers/media-fixtures.ts";
import { describeWith } from "../helpers/programs.ts";
import { tinyMmproj } from "../helpers/tiny-mmproj.ts";
import { DOCUMENTS, IMAGES, makeFolder, PROGRAMS, REFUSED, SOUNDS } from "./files.ts";
import { formsOf, type Kind } from "./forms.ts";
import {
  decodedAvif,
  pixelsDiffer,
  pixelsOf,
  referencePng,
  referenceSamples,
  samplesDiffer,
  samplesOf,
} from "./reference.ts";

type Bytes = Uint8Array<ArrayBuffer>;

const isSlow = process.env["SVC_SLOW_TESTS"] === "1";
/** Mean difference of a colour, of 255: lossy formats round twice, printers' colours three times. */
const COLOURS_DIFFER_MAX = 1;
/** Energy of the difference, dB; telephones' rate lies at the filter's edge. */
const SOUNDS_DIFFER_MAX = -65;
const PHONE_DIFFERS_MAX = -40;
/** Files of several images of which a model gets one, and the answer says so. */
const TOLD = new Set(["pages.tiff", "moving.avif"]);

/** Ollama has one field for all, where these are videos. */
const CONTAINERS = /\.(?:mp4|mov|webm|mka|wma)$|flac\.ogg$/;

interface UpstreamBody {
  readonly messages: readonly {
    readonly content:
      | string
      | readonly {
          readonly image_url?: { readonly url: string };
          readonly input_audio?: { readonly data: string };
        }[];
  }[];
}

/** Media of a request that a server got. */
function mediaOf(body: unknown): readonly Bytes[] {
  const { messages } = body as UpstreamBody;
  const parts = messages.flatMap(({ content }) => (typeof content === "string" ? [] : content));
  return parts.flatMap(({ image_url: image, input_audio: audio }) => {
    const data = image?.url ?? audio?.data;
    return data === undefined ? [] : [Uint8Array.fromBase64(data.replace(/^data:[^,]*,/, ""))];
  });
}

describeWith(...PROGRAMS)("files as people have them", () => {
  const folder = newFolder();
  const at = (name: string): string => join(folder, name);
  const bytesOf = (name: string): Bytes => new Uint8Array(readFileSync(at(name)));

  async function withFront(task: (url: string, lastBody: () => unknown) => Promise<void>): Promise<void> {
    const upstream = fakeUpstream();
    upstream.cards = [{ id: "m", owned_by: "vllm", max_model_len: 4096, modalities: ["image", "audio"] }];
    const toml = join(folder, "front.toml");
    const entry = `[[models]]\nmodel_id = "m"\nkind = "upstream"\n`;
    await Bun.write(toml, `${entry}[[models.upstreams]]\nurl = "${upstream.url}"\nmodel = "m"\n`);
    const server = await launchServer([toml]);
    try {
      await task(server.url, () => upstream.seen.at(-1)?.body);
    } finally {
      await server.stop();
    }
  }

  /** What each form brings to the model; all bring the same. */
  async function seenOf(
    url: string,
    name: string,
    { kind, lastBody }: { readonly kind: Kind; readonly lastBody: () => unknown },
  ): Promise<readonly Bytes[]> {
    let first: readonly Bytes[] | undefined;
    for (const { label, send } of formsOf(kind)) {
      if (label.startsWith("Ollama") && CONTAINERS.test(name)) continue;
      const response = await send(url, bytesOf(name), name);
      const text = await response.text();
      expect(response.status, `${name}, ${label}: ${text}`).toBe(200);
      if (label.startsWith("chat")) expect(text.includes("cut_files"), name).toBe(TOLD.has(name));
      const seen = mediaOf(lastBody());
      first ??= seen;
      expect(seen, `${name}, ${label}`).toEqual(first);
    }
    return first ?? [];
  }

  test.skipIf(!isSlow)("are made", () => makeFolder(folder));

  test.skipIf(!isSlow)("images have the reference's pixels", async () => {
    await withFront(async (url, lastBody) => {
      for (const [name] of IMAGES) {
        const seen = await seenOf(url, name, { kind: "image", lastBody });
        for (const [frame, bytes] of seen.entries()) {
          if (Buffer.from(bytes).equals(bytesOf(name))) continue; // as it was sent
          const wanted = name.endsWith(".avif") ? decodedAvif(at(name)) : referencePng(at(name), frame);
          expect(pixelsDiffer(pixelsOf(bytes), pixelsOf(wanted)), name).toBeLessThan(COLOURS_DIFFER_MAX);
        }
        expect(seen, name).toHaveLength(/^moving\.(?:gif|webp)$/.test(name) ? 2 : 1);
      }
    });
  });

  test.skipIf(!isSlow)("sounds reach another server in every form", async () => {
    await withFront(async (url, lastBody) => {
      for (const [name] of SOUNDS)
        expect(await seenOf(url, name, { kind: "audio", lastBody })).toHaveLength(1);
    });
  });

  test.skipIf(!isSlow)("documents are read, and a scan is seen, in every form", async () => {
    await withFront(async (url, lastBody) => {
      for (const [name, bytes] of DOCUMENTS)
        for (const { label, send } of formsOf("document")) {
          const response = await send(url, new Uint8Array(bytes), name);
          expect(response.status, `${name}, ${label}: ${await response.text()}`).toBe(200);
          expect(JSON.stringify(lastBody()), `${name}, ${label}`).toContain("The code is 7413.");
        }
      writeFileSync(at("scan.pdf"), mediaFixture("scan.pdf"));
      expect(await seenOf(url, "scan.pdf", { kind: "document", lastBody })).toHaveLength(1);
    });
  });

  test.skipIf(!isSlow)(
    "what is not read is refused by its name, with what to send, in every form",
    async () => {
      await withFront(async (url) => {
        for (const [[name], words] of REFUSED) {
          for (const { label, send } of formsOf("image")) {
            const response = await send(url, bytesOf(name), name);
            const text = await response.text();
            expect(response.status, `${name}, ${label}: ${text}`).toBe(400);
            expect(text, `${name}, ${label}`).toContain(words);
          }
        }
      });
    },
  );

  const engine = isSlow ? fileServer(["-m", TINY_FILE, "--mmproj", tinyMmproj()]) : undefined;

  test.skipIf(!isSlow)("sounds have the reference's samples where the engine hears them", async () => {
    const url = engine?.().url ?? "";
    for (const [name] of SOUNDS) {
      const part = { type: "input_audio", input_audio: { data: bytesOf(name).toBase64(), format: "wav" } };
      const messages = [{ role: "user", content: [part] }];
      const body = JSON.stringify({ model: "default", session_id: name, max_tokens: 1, messages });
      const headers = { "content-type": "application/json" };
      const answer = await fetch(`${url}/v1/chat/completions`, { method: "POST", headers, body });
      expect(answer.status, `${name}: ${await answer.text()}`).toBe(200);
      const session = (await (await fetch(`${url}/v1/sessions/${name}`)).json()) as { audios: string[] };
      const heard = Uint8Array.fromBase64(session.audios[0] ?? "");
      if (name === "engine.wav") {
        expect(heard).toEqual(bytesOf(name));
        continue;
      }
      const [samples, wanted] = [samplesOf(heard), referenceSamples(at(name))];
      expect(samples.length, name).toBe(wanted.length);
      const most = name === "phone.wav" ? PHONE_DIFFERS_MAX : SOUNDS_DIFFER_MAX;
      expect(samplesDiffer(samples, wanted), name).toBeLessThan(most);
    }
  });
});
