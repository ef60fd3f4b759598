// Frames of a video with the system's ffmpeg, confined like a tool: it parses untrusted files. It reads one file of its working
// directory, and its output is its standard output. Knows no model.
// Rejected: @ffmpeg/core (GPL), libav.js without H.264, native addons in the serving process.

import { writeFileSync, lchownSync } from "node:fs";
import { join } from "node:path";
import { ServiceError } from "../core/error.ts";
import { Semaphore } from "../core/semaphore.ts";
import type { ReadVideo, VideoBounds, VideoFrame } from "../core/video.ts";
import type { ConfinedProcess, Sandbox, Workdir } from "../sandbox/types.ts";
import {
  VIDEO_EDGE_MAX,
  VIDEO_FRAMES_BYTES_MAX,
  VIDEO_FRAMES_PER_SECOND,
  VIDEO_MS_MAX,
  VIDEO_REPORT_BYTES_MAX,
  VIDEO_SECONDS_MAX,
  VIDEOS_AT_ONCE,
} from "./limits.ts";
import { jpegs } from "./jpegs.ts";

/** Absolute paths of the programs, and folders that they need besides those of the sandbox. */
export interface FfmpegPrograms {
  readonly ffmpeg: string;
  readonly ffprobe: string;
  readonly readPaths: readonly string[];
}

export interface FfmpegDeps {
  /** Looked up for every video, so that an installed program is found without a restart. */
  readonly programs: () => FfmpegPrograms | undefined;
  /** Opens the sandbox; throws a sentence where this machine has none. */
  readonly openSandbox: () => Promise<Sandbox>;
}

/** Demuxers by their names in ffmpeg. Others, such as playlists, would open further files. */
const DEMUXERS = "mov,matroska,avi,mpegts,mpeg,flv,ogg,gif,asf";
const INPUT_OPTIONS = `-v error -protocol_whitelist file,pipe -format_whitelist ${DEMUXERS}`.split(" ");
const inputOptions = (path: string): readonly string[] => [...INPUT_OPTIONS, "-i", `file:${path}`];

/** Decodes videos with ffmpeg, a few at a time. */
export function ffmpegReader({ programs, openSandbox }: FfmpegDeps): ReadVideo {
  const turns = new Semaphore(VIDEOS_AT_ONCE);
  let opened: Promise<Sandbox> | undefined;
  return async (file, bounds, signal) => {
    const found = programs();
    if (found === undefined) throw noDecoder(bounds.param, "ffmpeg is not installed on it");
    let sandbox: Sandbox;
    try {
      sandbox = await (opened ??= openSandbox());
    } catch {
      opened = undefined;
      throw noDecoder(bounds.param, "it has no sandbox for ffmpeg (svc doctor says why)");
    }
    return turns.run(() => decode(file, { bounds, sandbox, programs: found }, signal), signal);
  };
}

function noDecoder(param: string, why: string): ServiceError {
  const message = `${param} is a video, which this server cannot decode: ${why}; send single frames as images, or data:video/jpeg;base64,FRAME,FRAME,…`;
  return new ServiceError("unsupported_capability", message, { param });
}

function invalid(param: string, problem: string): ServiceError {
  return new ServiceError("invalid_request", `${param} ${problem}`, { param });
}

interface Task {
  readonly bounds: VideoBounds;
  readonly sandbox: Sandbox;
  readonly programs: FfmpegPrograms;
}

async function decode(
  file: Uint8Array<ArrayBuffer>,
  { bounds, sandbox, programs }: Task,
  signal: AbortSignal,
): Promise<readonly VideoFrame[]> {
  const { param } = bounds;
  const workdir = sandbox.newWorkdir("svc-video-");
  const path = join(workdir.path, "video");
  const run: Run = { sandbox, workdir, readPaths: programs.readPaths, path, param };
  try {
    writeFileSync(path, file, { flag: "wx", mode: 0o600 });
    if (workdir.uid !== undefined) lchownSync(path, workdir.uid, workdir.uid);
    const duration = await secondsOf(programs.ffprobe, run, signal);
    if (duration > VIDEO_SECONDS_MAX)
      throw invalid(param, `has ${Math.ceil(duration)} seconds; at most ${VIDEO_SECONDS_MAX} are accepted`);
    const wanted = Math.max(1, Math.ceil(duration * VIDEO_FRAMES_PER_SECOND));
    const count = Math.min(bounds.framesMax, wanted);
    const rate = duration > 0 ? count / duration : 1;
    const edge = Math.min(VIDEO_EDGE_MAX, bounds.edgeMax ?? VIDEO_EDGE_MAX);
    const output = await outputOf(
      [programs.ffmpeg, "-nostdin", ...inputOptions(path), ...framesOptions(rate, count, edge)],
      run,
      { bytesMax: VIDEO_FRAMES_BYTES_MAX, signal },
    );
    const frames = jpegs(output);
    if (frames.length === 0) throw undecodable(param);
    return frames.map((bytes, index) => ({ bytes, seconds: index / rate }));
  } finally {
    await sandbox.removeWorkdir(workdir);
  }
}

function framesOptions(rate: number, count: number, edge: number): readonly string[] {
  const bound = (side: string): string => `'min(${edge},${side})'`;
  const scale = `scale=w=${bound("iw")}:h=${bound("ih")}:force_original_aspect_ratio=decrease`;
  const filters = `fps=${rate.toFixed(6)},${scale}`;
  return `-map 0:v:0 -frames:v ${count} -f image2pipe -c:v mjpeg -q:v 2 -vf ${filters} pipe:1`.split(" ");
}

/** The duration. Of a file that does not state it, the time of its last packet. */
async function secondsOf(ffprobe: string, run: Run, signal: AbortSignal): Promise<number> {
  const options = { bytesMax: VIDEO_REPORT_BYTES_MAX, signal };
  const ask = async (entries: string): Promise<readonly number[]> => {
    const argv = [ffprobe, ...inputOptions(run.path), "-select_streams", "v:0", "-show_entries", entries];
    const said = await outputOf([...argv, "-of", "csv=p=0"], run, options);
    return new TextDecoder()
      .decode(said)
      .split(/[\s,]+/)
      .map(Number)
      .filter((seconds) => seconds > 0);
  };
  const stated = await ask("stream=duration:format=duration");
  return Math.max(0, ...(stated.length > 0 ? stated : await ask("packet=pts_time")));
}

interface Run {
  readonly sandbox: Sandbox;
  readonly workdir: Workdir;
  readonly readPaths: readonly string[];
  /** The video. */
  readonly path: string;
  readonly param: string;
}

/** Standard output of a program that succeeds. */
async function outputOf(
  argv: readonly string[],
  { sandbox, workdir, readPaths, param }: Run,
  { bytesMax, signal }: { readonly bytesMax: number; readonly signal: AbortSignal },
): Promise<Uint8Array<ArrayBuffer>> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(VIDEO_MS_MAX)]);
  const process = sandbox.spawn({ argv, workdir, readPaths });
  const kill = (): void => process.kill();
  deadline.addEventListener("abort", kill, { once: true });
  if (deadline.aborted) kill();
  try {
    process.stderr.resume(); // it names paths, and says little that a client could act on
    const output = await read(process, bytesMax);
    const { code, limit } = await process.ended;
    signal.throwIfAborted();
    if (deadline.aborted || limit !== undefined || output === undefined)
      throw invalid(param, "takes too long or too much memory to decode; send a shorter or smaller video");
    if (code !== 0) throw undecodable(param);
    return output;
  } finally {
    deadline.removeEventListener("abort", kill);
  }
}

/** All output; undefined where it is more than that. */
async function read(
  process: ConfinedProcess,
  bytesMax: number,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of process.stdout as AsyncIterable<Uint8Array>) {
    bytes += part.byteLength;
    if (bytes <= bytesMax) parts.push(part);
    else process.kill();
  }
  return bytes <= bytesMax ? new Uint8Array(Buffer.concat(parts)) : undefined;
}

function undecodable(param: string): ServiceError {
  return invalid(
    param,
    "is damaged, holds no video, or has a codec that this server's ffmpeg does not decode; send MP4 with H.264, or WebM",
  );
}
