// Files with changed bytes, each in a reader process as the server starts it: every decoder ends, and says what it found.
// SVC_SLOW_TESTS=1; SVC_FUZZ_RUNS sets how many.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { ServiceError } from "../../src/core/error.ts";
import { checkedMedium } from "../../src/core/media.ts";
import { readerProcesses } from "../../src/reader/process.ts";
import type { ReaderTask, ReaderTasks } from "../../src/reader/protocol.ts";
import { docxOf, pdfOf } from "../helpers/documents.ts";
import { mediaFixture } from "../helpers/media-fixtures.ts";
import { seedOfRun } from "../helpers/seed.ts";

const isSlow = process.env["SVC_SLOW_TESTS"] === "1";
const RUNS = Number(process.env["SVC_FUZZ_RUNS"] ?? "200");
/** Of one file on a busy machine. The server waits for 30 seconds. */
const READ_MS_MAX = 25_000;

const IMAGES = [
  ..."cmyk.jpg lossy.webp lossless.webp animated.webp animated.gif lzw.tiff cmyk.tiff quarters.heic".split(
    " ",
  ),
  "quarters.avif",
];
const PAGE =
  "<html><title>a</title><p>Otters live by rivers.<table><tr><td>1<td>2</table><ul><li>x</ul>".repeat(9);

type Given = { readonly [T in ReaderTask]: readonly [task: T, given: ReaderTasks[T]["given"]] }[ReaderTask];
type Case = readonly [file: Uint8Array, job: (bytes: Uint8Array<ArrayBuffer>) => Given];

const image = (bytes: Uint8Array<ArrayBuffer>): Given => {
  checkedMedium(bytes, "image", {}, "image"); // the server refuses what says that it is too large
  return ["image", { data: bytes.toBase64(), framesMax: 8, framesPerSecond: 2 }];
};

const CASES: readonly Case[] = [
  ...IMAGES.map((name): Case => [mediaFixture(name), image]),
  ...["tone.ogg", "tone.opus"].map((name): Case => [
    mediaFixture(name),
    (bytes) => ["sound", { data: bytes.toBase64(), secondsMax: 60 }],
  ]),
  [mediaFixture("scan.pdf"), (bytes) => ["pages", { data: bytes.toBase64(), pagesMax: 2 }]],
  [pdfOf(["one", "two"]), (bytes) => ["document", { kind: "pdf", data: bytes.toBase64() }]],
  [
    docxOf("<w:p><w:r><w:t>a</w:t></w:r></w:p>"),
    (bytes) => ["document", { kind: "office", data: bytes.toBase64() }],
  ],
  [Buffer.from(PAGE), (bytes) => ["document", { kind: "html", data: bytes.toBase64() }]],
  [Buffer.from(PAGE), (bytes) => ["article", { html: Buffer.from(bytes).toString() }]],
  [Buffer.from(PAGE), (bytes) => ["duckduckgo", { html: Buffer.from(bytes).toString() }]],
];

/** Bytes of a file that hold sizes lie at its beginning. */
const HEAD = 300;
const place = fc.oneof(fc.nat(HEAD), fc.nat());
const change = fc.tuple(place, fc.oneof(fc.nat(255), fc.constantFrom(0, 127, 128, 255)));

const NEVER = new AbortController().signal;
const run = readerProcesses({ timeoutMs: READ_MS_MAX, atOnce: 1 });

test.skipIf(!isSlow)(
  `${RUNS} damaged files`,
  async () => {
    const property = fc.asyncProperty(
      fc.constantFrom(...CASES),
      fc.array(change, { minLength: 1, maxLength: 5 }),
      async ([file, job], changes) => {
        const bytes = new Uint8Array(file);
        for (const [at, byte] of changes) bytes[at % bytes.length] = byte;
        const given = await Promise.try(job, bytes).catch((error: unknown) => error);
        if (given instanceof ServiceError) return;
        const [task, input] = given as Given;
        expect(await run(task, input, NEVER)).toBeObject();
      },
    );
    await fc.assert(property, { numRuns: RUNS, seed: seedOfRun(), endOnFailure: true });
  },
  RUNS * READ_MS_MAX,
);
