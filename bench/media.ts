// What converting a file for a model takes: time and peak memory of the process that reads it, for large files as people have them and for
// what is claimed to be larger:  bun bench/media.ts. Files are made with ImageMagick and ffmpeg; what they cannot make has no row.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SOUND_RATE } from "../src/core/limits.ts";
import { READER_ENVIRONMENT, readerCommand } from "../src/reader/process.ts";
import type { ReadJob } from "../src/reader/protocol.ts";
import { docxOf, pdfOf } from "../test/helpers/documents.ts";
import { png, pngHead } from "../test/helpers/media-bytes.ts";
import { SVC } from "./peer.ts";

const MB = 1e6;
const PHOTO = ["-size", "6000x4000", "gradient:red-blue", "-depth", "8"];
const LARGE = ["-size", "8064x6048", "gradient:red-blue", "-depth", "8"];
const WIDE = ["-size", "8000x8000", "gradient:red-blue", "-depth", "8"];
const TONE = ["-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000"];

/** A row: what it is, how its file is made in a folder, and the job. */
interface Row {
  readonly name: string;
  readonly make: (folder: string) => Uint8Array | undefined;
  readonly job: (data: string) => ReadJob;
}

const image = (data: string): ReadJob => ({ task: "image", data, framesMax: 32, framesPerSecond: 1 });
const sound = (data: string): ReadJob => ({ task: "sound", data, secondsMax: 3600 });

function made(name: string, command: readonly string[]): Row["make"] {
  return (folder) => {
    const file = join(folder, name);
    if (Bun.which(command[0] ?? "") === null) return undefined;
    const { success } = Bun.spawnSync([...command, file]);
    return success ? readFileSync(file) : undefined;
  };
}

const photo = (name: string): Row => ({
  name: `image of 24 million pixels, ${name}`,
  make: made(`photo.${name}`, ["convert", ...PHOTO]),
  job: image,
});
const tone = (name: string, seconds: number): Row => ({
  name: `sound of ${seconds} s, ${name}`,
  make: made(`tone.${name}`, ["ffmpeg", "-v", "error", ...TONE, "-t", `${seconds}`, "-ac", "2"]),
  job: sound,
});

const ROWS: readonly Row[] = [
  ...["webp", "heic", "avif", "tiff"].map(photo),
  { name: "image of 48 million pixels, heic", make: made("large.heic", ["convert", ...LARGE]), job: image },
  {
    name: "image of 64 million pixels with opacity, png",
    make: made("clear.png", [
      "convert",
      ...WIDE,
      "-alpha",
      "set",
      "-channel",
      "A",
      "-evaluate",
      "set",
      "50%",
    ]),
    job: image,
  },
  { name: "image that claims 3,600 million pixels, png", make: () => pngHead(60_000, 60_000), job: image },
  { name: "image of one pixel, png", make: () => png(1, 1), job: image },
  tone("wav", 160),
  ...["mp3", "ogg", "opus", "flac"].map((name) => tone(name, 1000)),
  {
    name: "PDF of 2,000 pages",
    make: () => pdfOf(Array.from({ length: 2000 }, (_, page) => `Page ${page} of words.`)),
    job: (data) => ({ task: "document", kind: "pdf", data }),
  },
  {
    name: "Word document of 100,000 paragraphs",
    make: () => docxOf("<w:p><w:r><w:t>Words of a paragraph.</w:t></w:r></w:p>".repeat(100_000)),
    job: (data) => ({ task: "document", kind: "office", data }),
  },
];

/** Megabytes; not by the child's usage, which begins with this process's. */
function peakOf(pid: number): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1000;
  } catch {
    return 0; // it has ended
  }
}

async function measured({ name, make, job }: Row, folder: string): Promise<string | undefined> {
  const bytes = make(folder);
  if (bytes === undefined) return undefined;
  const input = new Blob([JSON.stringify(job(Buffer.from(bytes).toString("base64")))]);
  const startMs = performance.now();
  const child = Bun.spawn([...readerCommand([SVC])], {
    stdio: [input, "pipe", "ignore", "pipe"],
    env: READER_ENVIRONMENT,
  });
  let peak = 0;
  const watch = setInterval(() => (peak = Math.max(peak, peakOf(child.pid))), 5);
  const reply = await new Response(child.stdout).text();
  await child.exited;
  clearInterval(watch);
  const ms = performance.now() - startMs;
  const outcome = /^\{"problem":"(\w+)"/.exec(reply)?.[1] ?? (reply === "" ? "died" : "read");
  const size = (bytes.byteLength / MB).toFixed(1);
  return `| ${name} | ${size} | ${ms.toFixed(0)} | ${peak.toFixed(0)} | ${outcome} |`;
}

const folder = mkdtempSync(join(tmpdir(), "svc-bench-"));
try {
  console.log(`| File (sounds become ${SOUND_RATE} Hz) | MB | ms | peak MB | |\n|---|--:|--:|--:|---|`);
  for (const row of ROWS) {
    const line = await measured(row, folder);
    if (line !== undefined) console.log(line);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
