// The project's glossary, and the words that it replaces. One term per concept, in code, API texts and documents.
//
//   bun scripts/terms.ts            fails where a retired word is used; part of `npm run check`
//
// `npm run generate` writes the glossary of ARCHITECTURE.md.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "..");

/** What the check reads. Tests are left out: their fixtures speak as users do. */
const FILES = [
  "{src,ffi,ui,bench,scripts}/**/*.{ts,tsx,cpp,h,c,rs,css,html}",
  "prebuilt/*.{ts,sh,md}",
  "docs/**/*.md",
  "*.{md,sh}",
];

/**
 * This file, texts of a benchmark, the name of a database in browsers, and the microphone, which does record; licences and
 * generated code are not ours to word.
 */
const EXEMPT =
  /^scripts\/terms\.ts$|^bench\/speculation-tasks\.ts$|^ui\/(?:state\/(?:image-store|recorder)\.ts|view\/microphone\.tsx)$|\/target\//;

/** Terms of the field are not explained here: KV cache, prefill, decode, micro-batch, eviction, backpressure, drain, readiness, TTFT. */
const GLOSSARY: Readonly<Record<string, string>> = {
  run: "one request's work in the engine",
  choice: "one of the continuations of a run (`n`)",
  sequence: "the tokens of a choice and how many of them are computed",
  "known, computed token": "a token of the prompt or sampled; a token whose KV cells are filled",
  "request queue": "requests that wait for a place in the engine, fair between clients",
  "running set": "the sequences that hold a slot and take part in steps",
  "sequence slot": "llama.cpp's sequence id; `slot` for short",
  "KV cell": "room for one token in the KV cache; `cell` for short",
  step: "one iteration of the engine's loop: schedule, decode, sample, flush",
  row: "one token in a batch",
  "prefill chunk": "prompt tokens that are computed in one step beside the decode rows",
  "multi-step decode": "several steps in one native call, without JavaScript between them",
  "speculative decoding, draft token":
    "tokens proposed by an n-gram index or a draft model and verified in one pass",
  preemption: "the cells of a sequence are taken; it returns to the queue and is computed again",
  "prefix cache, prefix hit": "cells kept after a run; the prompt tokens a new run finds there",
  checkpoint: "a saved state of memory that cannot be truncated, with the tokens that led to it",
  "tier, block":
    "memory or disk for copies of KV cells; the cells of 32 tokens, found by a hash of all tokens before",
  boundary: "a position in a prompt where a pass ends so that a checkpoint can be saved",
  "guard sequence": "a native sequence that protects cells outside a sliding window from eviction",
  lease: "the right to use a model or an adapter generation; unload waits for its release",
  "upstream, pool": "a server that runs a model for svc; all upstreams of one model",
  cooldown: "the time in which a failed upstream gets no requests",
  pin: "cells or a model are excluded from eviction",
  "adapter, generation": "a LoRA; one of its loaded versions",
  "adapter scheduling": "which adapter the next step is for; a pass uses one",
  "media chunk": "an image or audio clip, or a part of it, as placeholder tokens",
  encoding: "the embeddings that the projector computed for a media chunk",
  "marker, markup": "strings by which a model separates text, reasoning and tool calls",
  dialect: "a wire format: chat completions, Responses, Messages, …",
  caller: "the client that a request comes from: its key, else its address; owner of its records",
  admission: "the decision, before a body is read, whether a request gets a place or is shed",
  pass: "one run of an answer in rounds",
  round: "the tool calls of a pass that the server executes",
  session: "a stored conversation with its files, interpreters and network",
  confinement: "the mechanism that holds a tool's process: launcher or bubblewrap",
};

/** Patterns, matched without regard to case; letters before one end a word. */
const RETIRED: readonly (readonly [pattern: string, say: string])[] = [
  [String.raw`pictures?\b`, "image"],
  [String.raw`drawings?\b`, "image; image generation"],
  [String.raw`recordings?\b`, "audio"],
  [String.raw`films?\b`, "video"],
  [
    String.raw`guess(es|ed|ing)?\b`,
    "draft token, speculative decoding; for secrets: unpredictable; else: heuristic, estimate",
  ],
  [String.raw`roster`, "running set"],
  [String.raw`steps?[- ]?ahead\b`, "multi-step decode"],
  [String.raw`somebody|anybody|nobody|whoever|whomever`, "client, caller, user, process, waiter, no …"],
  [String.raw`strangers?\b`, "untrusted, third-party"],
  [String.raw`for ever\b`, "forever, indefinitely; name what ends it"],
  [String.raw`(is|are|was|were|be|been) told\b`, "name the event: is notified, receives, is logged, is sent"],
  [String.raw`could not be asked`, "could not be reached"],
  [String.raw`(asks?|asked|wait(s|ed)?) for (your|its|their|a) leave`, "asks for permission"],
  [String.raw`what came of`, "result"],
  [String.raw`come to of`, "result"],
  [String.raw`(makes?|made|making) room for others`, "evict"],
  [String.raw`anew\b`, "again"],
  [String.raw`so many (?!that)`, "a count with its name: `n` tokens"],
  [String.raw`of ours\b`, "svc's own; name the owner"],
  [String.raw`had better\b`, "should"],
  [String.raw`stands? still\b`, "stalls, hangs"],
  [String.raw`lest\b`, "so that … not"],
  [String.raw`there is (none|nobody|not)\b`, "is missing, is unavailable"],
  [String.raw`as the model likes`, "model default"],
  [String.raw`what is to be\b`, "a noun"],
  [String.raw`goes for\b`, "applies to"],
  [String.raw`the likes of\b`, "such as"],
];

const RETIRED_WORDS = RETIRED.map(([pattern, say]) => ({
  // Identifiers count too: `pictureSize`, `PICTURE_BYTES`.
  expression: new RegExp(`(?<![A-Za-z])(?:${pattern})`, "i"),
  say,
}));

/** Uses of retired words, as `file:line: word (say: …)`. */
function retiredUses(file: string): readonly string[] {
  const lines = readFileSync(join(ROOT, file), "utf8").split("\n");
  return lines.flatMap((line, index) =>
    RETIRED_WORDS.flatMap(({ expression, say }) => {
      const found = expression.exec(line.replaceAll(/([a-z])([A-Z])/g, "$1 $2"));
      return found === null ? [] : [`${file}:${index + 1}: "${found[0]}"; say: ${say}`];
    }),
  );
}

function check(): void {
  const files = FILES.flatMap((pattern) => globSync(pattern, { cwd: ROOT })).filter(
    (file) => !EXEMPT.test(file),
  );
  const uses = files.flatMap(retiredUses);
  for (const use of uses) console.error(use);
  if (uses.length === 0) return;
  console.error(`${uses.length} uses of retired words; scripts/terms.ts lists what replaces them`);
  process.exitCode = 1;
}

/** The glossary as Markdown. */
export function glossaryTable(): string {
  return [
    "|Term|Meaning|",
    "|---|---|",
    ...Object.entries(GLOSSARY).map(([term, meaning]) => `|${term}|${meaning}|`),
  ].join("\n");
}

if (import.meta.main) check();
