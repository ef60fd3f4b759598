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

interface Term {
  readonly term: string;
  readonly meaning: string;
}

interface RetiredWord {
  /** Matched without regard to case. Letters before it end a word: `\b` is added in front. */
  readonly pattern: string;
  readonly say: string;
}

/** Terms of the field are not explained here: KV cache, prefill, decode, micro-batch, eviction, backpressure, drain, readiness, TTFT. */
const GLOSSARY: readonly Term[] = [
  { term: "run", meaning: "one request's work in the engine" },
  { term: "choice", meaning: "one of the continuations of a run (`n`)" },
  { term: "sequence", meaning: "the tokens of a choice and how many of them are computed" },
  {
    term: "known, computed token",
    meaning: "a token of the prompt or sampled; a token whose KV cells are filled",
  },
  { term: "request queue", meaning: "requests that wait for a place in the engine, fair between clients" },
  { term: "running set", meaning: "the sequences that hold a slot and take part in steps" },
  { term: "sequence slot", meaning: "llama.cpp's sequence id; `slot` for short" },
  { term: "KV cell", meaning: "room for one token in the KV cache; `cell` for short" },
  { term: "step", meaning: "one iteration of the engine's loop: schedule, decode, sample, flush" },
  { term: "row", meaning: "one token in a batch" },
  { term: "prefill chunk", meaning: "prompt tokens that are computed in one step beside the decode rows" },
  { term: "multi-step decode", meaning: "several steps in one native call, without JavaScript between them" },
  {
    term: "speculative decoding, draft token",
    meaning: "tokens proposed by an n-gram index or a draft model and verified in one pass",
  },
  {
    term: "preemption",
    meaning: "the cells of a sequence are taken; it returns to the queue and is computed again",
  },
  {
    term: "prefix cache, prefix hit",
    meaning: "cells kept after a run; the prompt tokens a new run finds there",
  },
  {
    term: "checkpoint",
    meaning: "a saved state of memory that cannot be truncated, with the tokens that led to it",
  },
  {
    term: "tier, block",
    meaning:
      "memory or disk for copies of KV cells; the cells of 32 tokens, found by a hash of all tokens before",
  },
  { term: "boundary", meaning: "a position in a prompt where a pass ends so that a checkpoint can be saved" },
  {
    term: "guard sequence",
    meaning: "a native sequence that protects cells outside a sliding window from eviction",
  },
  {
    term: "lease",
    meaning: "the right to use a model or an adapter generation; unload waits for its release",
  },
  { term: "upstream, pool", meaning: "a server that runs a model for svc; all upstreams of one model" },
  { term: "cooldown", meaning: "the time in which a failed upstream gets no requests" },
  { term: "pin", meaning: "cells or a model are excluded from eviction" },
  { term: "adapter, generation", meaning: "a LoRA; one of its loaded versions" },
  { term: "adapter scheduling", meaning: "which adapter the next step is for; a pass uses one" },
  { term: "media chunk", meaning: "an image or audio clip, or a part of it, as placeholder tokens" },
  { term: "encoding", meaning: "the embeddings that the projector computed for a media chunk" },
  { term: "marker, markup", meaning: "strings by which a model separates text, reasoning and tool calls" },
  { term: "dialect", meaning: "a wire format: chat completions, Responses, Messages, …" },
  {
    term: "caller",
    meaning: "the client that a request comes from: its key, else its address; owner of its records",
  },
  {
    term: "admission",
    meaning: "the decision, before a body is read, whether a request gets a place or is shed",
  },
  { term: "pass", meaning: "one run of an answer in rounds" },
  { term: "round", meaning: "the tool calls of a pass that the server executes" },
  { term: "session", meaning: "a stored conversation with its files, interpreters and network" },
  { term: "confinement", meaning: "the mechanism that holds a tool's process: launcher or bubblewrap" },
];

const RETIRED: readonly RetiredWord[] = [
  { pattern: String.raw`pictures?\b`, say: "image" },
  { pattern: String.raw`drawings?\b`, say: "image; image generation" },
  { pattern: String.raw`recordings?\b`, say: "audio" },
  { pattern: String.raw`films?\b`, say: "video" },
  {
    pattern: String.raw`guess(es|ed|ing)?\b`,
    say: "draft token, speculative decoding; for secrets: unpredictable; else: heuristic, estimate",
  },
  { pattern: String.raw`roster`, say: "running set" },
  { pattern: String.raw`steps?[- ]?ahead\b`, say: "multi-step decode" },
  {
    pattern: String.raw`somebody|anybody|nobody|whoever|whomever`,
    say: "client, caller, user, process, waiter, no …",
  },
  { pattern: String.raw`strangers?\b`, say: "untrusted, third-party" },
  { pattern: String.raw`for ever\b`, say: "forever, indefinitely; name what ends it" },
  {
    pattern: String.raw`(is|are|was|were|be|been) told\b`,
    say: "name the event: is notified, receives, is logged, is sent",
  },
  { pattern: String.raw`could not be asked`, say: "could not be reached" },
  { pattern: String.raw`(asks?|asked|wait(s|ed)?) for (your|its|their|a) leave`, say: "asks for permission" },
  { pattern: String.raw`what came of`, say: "result" },
  { pattern: String.raw`come to of`, say: "result" },
  { pattern: String.raw`(makes?|made|making) room for others`, say: "evict" },
  { pattern: String.raw`anew\b`, say: "again" },
  { pattern: String.raw`so many (?!that)`, say: "a count with its name: `n` tokens" },
  { pattern: String.raw`of ours\b`, say: "svc's own; name the owner" },
  { pattern: String.raw`had better\b`, say: "should" },
  { pattern: String.raw`stands? still\b`, say: "stalls, hangs" },
  { pattern: String.raw`lest\b`, say: "so that … not" },
  { pattern: String.raw`there is (none|nobody|not)\b`, say: "is missing, is unavailable" },
  { pattern: String.raw`as the model likes`, say: "model default" },
  { pattern: String.raw`what is to be\b`, say: "a noun" },
  { pattern: String.raw`goes for\b`, say: "applies to" },
  { pattern: String.raw`the likes of\b`, say: "such as" },
];

const RETIRED_WORDS = RETIRED.map(({ pattern, say }) => ({
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
  return ["|Term|Meaning|", "|---|---|", ...GLOSSARY.map(({ term, meaning }) => `|${term}|${meaning}|`)].join(
    "\n",
  );
}

if (import.meta.main) check();
