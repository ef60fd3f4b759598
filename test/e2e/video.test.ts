// Videos through the executable, with a projector of random weights on the built-in model.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { launchServer, newFolder, runBinary, type Server } from "../helpers/binary.ts";
import { checkered, plain } from "../helpers/drawn-media.ts";
import { postJson } from "../helpers/post.ts";
import { describeWith } from "../helpers/programs.ts";
import { PICTURE_TOKENS, tinyMmproj } from "../helpers/tiny-mmproj.ts";

const CONFIG = `[[models]]\nmodel_id = "svc-tiny"\nalias = "sees"\nformat.mmproj = "${tinyMmproj(["image"])}"\nmultimodal.max_video_frames = 4\n`;
const FRAMES = [plain(255, 0, 0), checkered()].map((file) => file.toString("base64"));
const text = (words: string) => ({ type: "text", text: words });
const image = (data: string) => ({ type: "image_url", image_url: `data:image/png;base64,${data}` });
const QUESTION = text("What?");

interface Answer {
  readonly usage?: { readonly prompt_tokens: number };
  readonly error?: { readonly code: string; readonly message: string; readonly param: string };
}

async function ask(server: Server, ...parts: readonly object[]): Promise<Answer> {
  const messages = [{ role: "user", content: [...parts, QUESTION] }];
  const response = await postJson(`${server.url}/v1/chat/completions`, {
    model: "sees",
    messages,
    max_tokens: 2,
  });
  const answer = (await response.json()) as Answer;
  expect(response.status, JSON.stringify(answer)).toBe(answer.error === undefined ? 200 : 400);
  return answer;
}

const video = (url: string) => ({ type: "video_url", video_url: { url } });

async function serverIn(env: Readonly<Record<string, string>>): Promise<Server> {
  const cwd = newFolder();
  writeFileSync(join(cwd, "svc.toml"), CONFIG);
  return launchServer(["svc.toml"], { cwd, env });
}

describe("without ffmpeg", () => {
  let server: Server;
  beforeAll(async () => void (server = await serverIn({ PATH: newFolder() })));
  afterAll(async () => void (await server.stop()));

  test("frames that the client chose cost what images cost", async () => {
    const asVideo = await ask(server, video(`data:video/jpeg;base64,${FRAMES.join(",")}`));
    const asImages = await ask(server, text("[Video]"), ...FRAMES.map(image));
    expect(asVideo.usage?.prompt_tokens).toBeGreaterThan(2 * PICTURE_TOKENS);
    expect(asVideo.usage?.prompt_tokens).toBe(asImages.usage?.prompt_tokens);
  });

  test("a file is refused with the fix", async () => {
    const file = Buffer.from("\0\0\0\x10ftypisom0000", "latin1").toString("base64");
    const { error } = await ask(server, video(`data:video/mp4;base64,${file}`));
    expect(error).toMatchObject({ code: "unsupported_capability", param: "messages[0].content[0]" });
    expect(error?.message).toContain("ffmpeg is not installed");
  });
});

describeWith("ffmpeg")("with ffmpeg", () => {
  let server: Server;
  const folder = newFolder();
  const path = join(folder, "clip.mp4");
  beforeAll(async () => {
    const source = ["-f", "lavfi", "-i", "testsrc=d=9:r=4:s=64x64", "-c:v", "mpeg4"];
    expect(await Bun.spawn(["ffmpeg", "-v", "error", ...source, path], { stdin: "ignore" }).exited).toBe(0);
    server = await serverIn({});
  });
  afterAll(async () => void (await server.stop()));

  test("max_video_frames of a file are in the prompt", async () => {
    const url = `data:video/mp4;base64,${readFileSync(path).toString("base64")}`;
    const { usage } = await ask(server, video(url));
    const [frame = ""] = FRAMES;
    const frames = ["0m0.0s", "0m2.3s", "0m4.5s", "0m6.8s"].flatMap((at) => [text(`[${at}]`), image(frame)]);
    const asImages = await ask(server, text("[Video]"), ...frames);
    expect(usage?.prompt_tokens).toBe(asImages.usage?.prompt_tokens);
  });

  test("svc run --video", async () => {
    writeFileSync(join(folder, "svc.toml"), CONFIG);
    const args = ["run", "svc.toml", "--local", "--video", path, "What?"];
    const { exit, err } = await runBinary(args, { cwd: folder, limitMs: 60_000 });
    expect(err).toBe("");
    expect(exit).toBe(0);
  });
});
