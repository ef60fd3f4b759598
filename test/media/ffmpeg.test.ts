// Frames of real videos with ffmpeg in the sandbox; without ffmpeg or a sandbox, what clients are told.

import { beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { ffmpegPrograms } from "../../src/app/media.ts";
import { openConfined } from "../../src/sandbox/confined.ts";
import { mediaFile } from "../../src/core/media-file.ts";
import { frameTime } from "../../src/core/video.ts";
import { type FfmpegDeps, withFfmpeg } from "../../src/media/ffmpeg.ts";
import { ffmpegSound } from "../../src/media/ffmpeg-sound.ts";
import { videoFrames } from "../../src/media/video-frames.ts";
import { jpegs } from "../../src/media/jpegs.ts";
import { jpeg } from "../helpers/media-bytes.ts";
import { describeWith } from "../helpers/programs.ts";
import { refusal } from "../helpers/refusal.ts";
import { tempDir } from "../helpers/tmp.ts";

const NEVER = new AbortController().signal;
const BOUNDS = { framesMax: 32, param: "p" };
const LIMITS = { memoryMb: 2048, cpuSecs: 60, procs: 64 };

const ffmpegReader = (deps: FfmpegDeps) => videoFrames(withFfmpeg(deps));

test("a stream of JPEG files is split at their ends", () => {
  const files = [2, 3, 4].map((edge) => new Uint8Array([...jpeg(edge, edge), 0xff, 0xd9]));
  expect(jpegs(new Uint8Array(Buffer.concat(files)))).toEqual(files);
  expect(jpegs(new Uint8Array())).toEqual([]);
});

test("times of frames", () => {
  expect([0, 0.25, 59.96, 650.5].map(frameTime)).toEqual(["[0m0.0s]", "[0m0.3s]", "[1m0.0s]", "[10m50.5s]"]);
});

test("without ffmpeg, or without a sandbox, the error says what to do", async () => {
  const nowhere = ffmpegReader({
    programs: () => undefined,
    openSandbox: () => openConfined({ program: "ffmpeg", limits: LIMITS, environment: process.env }),
  });
  const missing = await refusal(() => nowhere(new Uint8Array(9), BOUNDS, NEVER));
  expect(missing).toMatchObject({ code: "unsupported_capability", param: "p" });
  expect(missing.message).toContain("ffmpeg is not installed");
  const open = ffmpegReader({
    programs: () => ({ ffmpeg: "/bin/false", ffprobe: "/bin/false", readPaths: [] }),
    openSandbox: () => Promise.reject(new Error("no bubblewrap")),
  });
  expect((await refusal(() => open(new Uint8Array(9), BOUNDS, NEVER))).message).toContain("has no sandbox");
});

describeWith("ffmpeg")("ffmpeg", () => {
  const folder = tempDir();
  const read = ffmpegReader({
    programs: ffmpegPrograms,
    openSandbox: () => openConfined({ program: "ffmpeg", limits: LIMITS, environment: process.env }),
  });

  /** A test picture with a clock, written by ffmpeg. */
  async function made(name: string, ...options: readonly string[]): Promise<Uint8Array<ArrayBuffer>> {
    const path = join(folder, name);
    const argv = ["ffmpeg", "-v", "error", "-f", "lavfi", ...options, path];
    const run = Bun.spawn(argv, { stderr: "inherit", stdin: "ignore" });
    expect(await run.exited).toBe(0);
    return Bun.file(path).bytes();
  }

  let clip: Uint8Array<ArrayBuffer>;
  beforeAll(
    async () => void (clip = await made("a.mp4", "-i", "testsrc=d=4:r=10:s=320x240", "-c:v", "mpeg4")),
  );

  test.each([
    ["a.m4a", "aac"],
    ["a.webm", "libopus"],
    ["a.aiff", "pcm_s16be"],
  ])("decodes the sound of %s, at the engine's rate, in one channel", async (name, codec) => {
    const bytes = await made(name, "-i", "sine=f=440:d=2:r=44100", "-ac", "2", "-c:a", codec);
    const deps = {
      programs: ffmpegPrograms,
      openSandbox: () => openConfined({ program: "ffmpeg", limits: LIMITS, environment: process.env }),
    };
    const { bytes: sound, total } = await ffmpegSound(withFfmpeg(deps))(
      { bytes, format: "M4A", param: "p" },
      1,
      NEVER,
    );
    expect(total).toBeCloseTo(2, 1);
    const file = mediaFile(sound);
    expect(file).toMatchObject({ modality: "audio", format: "WAV" });
    expect(file?.modality === "audio" ? file.seconds : 0).toBeCloseTo(1, 1);
  });

  test("takes two frames a second, with their times", async () => {
    const frames = await read(clip, BOUNDS, NEVER);
    expect(frames.map(({ seconds }) => seconds)).toEqual([0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5]);
    expect(frames.map(({ bytes }) => mediaFile(bytes))).toEqual(
      frames.map(() => ({ modality: "image", format: "JPEG", size: { width: 320, height: 240 } })),
    );
    expect(new Set(frames.map(({ bytes }) => bytes.toBase64())).size).toBe(8);
    // The same file makes the same frames, so that the prefix cache finds them.
    expect(await read(clip, BOUNDS, NEVER)).toEqual(frames);
  });

  test("takes fewer where the bound is lower, over the whole video", async () => {
    const frames = await read(clip, { ...BOUNDS, framesMax: 2 }, NEVER);
    expect(frames.map(({ seconds }) => seconds)).toEqual([0, 2]);
    expect(await read(clip, { ...BOUNDS, framesMax: 1 }, NEVER)).toHaveLength(1);
  });

  test("bounds the edges", async () => {
    const [frame] = await read(clip, { ...BOUNDS, framesMax: 1, edgeMax: 100 }, NEVER);
    expect(frame && mediaFile(frame.bytes)).toMatchObject({ size: { width: 100, height: 75 } });
    const large = await made("b.avi", "-i", "testsrc=d=1:r=2:s=1920x1080", "-c:v", "mjpeg");
    const [scaled] = await read(large, { ...BOUNDS, framesMax: 1 }, NEVER);
    expect(scaled && mediaFile(scaled.bytes)).toMatchObject({ size: { width: 768, height: 432 } });
  });

  test("finds the length of a recording that does not state it", async () => {
    const path = join(folder, "c.webm");
    const source = ["-f", "lavfi", "-i", "testsrc=d=2:r=10:s=64x64"];
    const run = Bun.spawn(["sh", "-c", 'ffmpeg -v error "$@" -c:v libvpx -f webm - > "$0"', path, ...source]);
    expect(await run.exited).toBe(0);
    expect(await read(await Bun.file(path).bytes(), BOUNDS, NEVER)).toHaveLength(4);
  });

  test.each([
    ["a damaged file", () => clip.slice(0, 900)],
    [
      "a playlist, which names other files",
      () => new TextEncoder().encode("#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n"),
    ],
  ])("%s is the client's mistake", async (_name, file) => {
    const error = await refusal(async () => read(new Uint8Array(file()), BOUNDS, NEVER));
    expect(error).toMatchObject({ code: "invalid_request", param: "p" });
    expect(error.message).not.toContain("/");
  });

  test("sound alone is none", async () => {
    const sound = await made("d.mp4", "-i", "sine=d=1", "-c:a", "aac");
    expect((await refusal(() => read(sound, BOUNDS, NEVER))).message).toContain("holds no video");
  });

  test("ends with its request", async () => {
    const gone = new AbortController();
    const reading = read(clip, BOUNDS, gone.signal);
    gone.abort(new Error("gone"));
    expect(reading).rejects.toThrow("gone");
    await Promise.allSettled([reading]);
  });
});
