// Runs the system's ffmpeg and ffprobe on one untrusted file, confined like a tool: they read one file of their working directory, and
// their output is standard output.
// Rejected: @ffmpeg/core (GPL), libav.js without H.264, native addons in the serving process; FAAD2 in WebAssembly for AAC (GPL).

import { writeFileSync, lchownSync } from "node:fs";
import { join } from "node:path";
import { invalidField, ServiceError } from "../core/error.ts";
import { Semaphore } from "../core/semaphore.ts";
import type { ConfinedProcess, Sandbox, Workdir } from "../sandbox/types.ts";
import { VIDEO_MS_MAX, VIDEO_REPORT_BYTES_MAX, VIDEOS_AT_ONCE } from "./limits.ts";

/** Absolute paths of the programs, and folders that they need besides those of the sandbox. */
export interface FfmpegPrograms {
  readonly ffmpeg: string;
  readonly ffprobe: string;
  readonly readPaths: readonly string[];
}

export interface FfmpegDeps {
  /** Looked up for every file, so that an installed program is found without a restart. */
  readonly programs: () => FfmpegPrograms | undefined;
  /** Opens the sandbox; throws a sentence where this machine has none. */
  readonly openSandbox: () => Promise<Sandbox>;
}

/** A file to decode. */
export interface FfmpegFile {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Field of the request, for errors. */
  readonly param: string;
  /** What it is, and what to send instead, for errors. */
  readonly words: FfmpegWords;
}

export interface FfmpegWords {
  readonly kind: string;
  readonly without: string;
  readonly undecodable: string;
}

/** Demuxers by their names in ffmpeg. Others, such as playlists, would open further files. */
const DEMUXERS = "mov,matroska,avi,mpegts,mpeg,flv,ogg,gif,asf,aac,amr,aiff,caf,flac,wav,mp3,ac3";
const INPUT_OPTIONS = `-v error -protocol_whitelist file,pipe -format_whitelist ${DEMUXERS}`.split(" ");

/** Options that name the file. */
export function inputOptions({ path }: Run): readonly string[] {
  return [...INPUT_OPTIONS, "-i", `file:${path}`];
}

/** Gives a file to a task, a few at a time. */
export type WithFfmpeg = <T>(
  file: FfmpegFile,
  task: (run: Run, signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
) => Promise<T>;

export function withFfmpeg({ programs, openSandbox }: FfmpegDeps): WithFfmpeg {
  const turns = new Semaphore(VIDEOS_AT_ONCE);
  let opened: Promise<Sandbox> | undefined;
  return async (file, task, signal) => {
    const found = programs();
    if (found === undefined) throw noDecoder(file, "ffmpeg is not installed on it");
    let sandbox: Sandbox;
    try {
      sandbox = await (opened ??= openSandbox());
    } catch {
      opened = undefined;
      throw noDecoder(file, "it has no sandbox for ffmpeg (svc doctor says why)");
    }
    return turns.run(() => inFolder(file, sandbox, found, (run) => task(run, signal)), signal);
  };
}

function noDecoder({ param, words }: FfmpegFile, why: string): ServiceError {
  const message = `${param} is ${words.kind}, which this server cannot decode: ${why}; ${words.without}`;
  return new ServiceError("unsupported_capability", message, { param });
}

async function inFolder<T>(
  file: FfmpegFile,
  sandbox: Sandbox,
  programs: FfmpegPrograms,
  task: (run: Run) => Promise<T>,
): Promise<T> {
  const workdir = sandbox.newWorkdir("video");
  const path = join(workdir.path, "video");
  try {
    writeFileSync(path, file.bytes, { flag: "wx", mode: 0o600 });
    if (workdir.uid !== undefined) lchownSync(path, workdir.uid, workdir.uid);
    return await task({ sandbox, workdir, programs, path, file });
  } finally {
    await sandbox.removeWorkdir(workdir);
  }
}

/** The duration. Of a file that does not state it, the time of its last packet. */
export async function secondsOf(run: Run, stream: "v:0" | "a:0", signal: AbortSignal): Promise<number> {
  const options = { bytesMax: VIDEO_REPORT_BYTES_MAX, signal };
  const ask = async (entries: string): Promise<readonly number[]> => {
    const argv = [
      run.programs.ffprobe,
      ...inputOptions(run),
      "-select_streams",
      stream,
      "-show_entries",
      entries,
    ];
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

/** A file in its folder. */
export interface Run {
  readonly programs: FfmpegPrograms;
  readonly path: string;
  readonly file: FfmpegFile;
  readonly sandbox: Sandbox;
  readonly workdir: Workdir;
}

/** Standard output of a program that succeeds. */
export async function outputOf(
  argv: readonly string[],
  { sandbox, workdir, programs, file: { param, words } }: Run,
  { bytesMax, signal }: { readonly bytesMax: number; readonly signal: AbortSignal },
): Promise<Uint8Array<ArrayBuffer>> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(VIDEO_MS_MAX)]);
  const process = sandbox.spawn({ argv, workdir, readPaths: programs.readPaths });
  const kill = (): void => process.kill();
  deadline.addEventListener("abort", kill, { once: true });
  if (deadline.aborted) kill();
  try {
    process.stderr.resume(); // it names paths, and says little that a client could act on
    const output = await read(process, bytesMax);
    const { code, limit } = await process.ended;
    signal.throwIfAborted();
    if (deadline.aborted || limit !== undefined || output === undefined)
      throw invalidField(
        param,
        "takes too long or too much memory to decode; send a shorter or smaller file",
      );
    if (code !== 0) throw invalidField(param, words.undecodable);
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
