// Import table: which folder may import which, and which packages. The linter's rules (.oxlintrc.json), the boundary test
// (test/boundaries.test.ts) and the tables of ARCHITECTURE.md read it; `npm run generate` writes them.

import { readdirSync } from "node:fs";
import { join } from "node:path";

export interface ImportRule {
  /** A folder ends with a slash. Of several rules that match a file, the longest applies. */
  readonly from: string;
  /** What its files may import besides their own folder and packages. */
  readonly may: readonly string[];
  /** The same with `import type` only. */
  readonly types?: readonly string[];
  /** What the folder must not know, for the table of ARCHITECTURE.md. */
  readonly why?: string;
}

const CORE = "src/core/";
const PROTOCOL = "src/engine/protocol.ts";
const WORKER_SHARED = "src/worker/shared/";

const DIALECTS = readdirSync(join(import.meta.dir, "../src/dialects")).sort();

/** Folders of src by their names. */
const rooms = (...names: readonly string[]): readonly string[] => names.map((name) => `src/${name}/`);

const leaf = (from: string): ImportRule => ({ from, may: [CORE] });

/** What a file of the engine process may import, by the kind of its model: `main.ts` alone opens the native library. */
function workerRules(kind: string): readonly ImportRule[] {
  const from = `src/worker/${kind}/`;
  const may = [CORE, PROTOCOL, WORKER_SHARED];
  return [
    { from, may },
    { from: `${from}main.ts`, may: [...may, from, "ffi/"] },
  ];
}

/** Imports point downward. Two rooms of one level that need each other share a type in core, or src/app passes a function. */
export const IMPORT_RULES: readonly ImportRule[] = [
  { from: CORE, may: [] },
  ...rooms(
    "access",
    "traces",
    "engine",
    "files",
    "hub",
    "images",
    "lora",
    "mcp",
    "measure",
    "metrics",
    "net",
  ).map(leaf),
  ...rooms(
    "quantize",
    "reader",
    "sandbox",
    "sessions",
    "skills",
    "state",
    "system",
    "update",
    "upstream",
  ).map(leaf),
  { from: "src/config/", may: [CORE], types: [PROTOCOL] },
  { from: "src/clients/", may: [CORE], why: "no server, no settings: texts and files of other programs" },
  ...DIALECTS.map((name) => ({
    from: `src/dialects/${name}/`,
    may: [CORE, "src/dialects/shared/"],
    why: "no other dialect, no clock, no I/O",
  })),
  {
    from: "src/agent/",
    may: [
      CORE,
      "src/exec/names.ts",
      "src/reader/ranking.ts",
      "src/search/domains.ts",
      "src/search/failure.ts",
    ],
    types: ["src/exec/types.ts", "src/mcp/types.ts", "src/sandbox/types.ts", "src/search/types.ts"],
    why: "neither HTTP nor a dialect",
  },
  { from: "src/exec/", may: [CORE, "src/sandbox/"] },
  {
    from: "src/convert/",
    may: [CORE, "prebuilt/"],
    types: ["src/sandbox/types.ts"],
    why: "starts Python in the sandbox that it is given",
  },
  {
    from: "src/media/",
    may: [
      CORE,
      ...["decoded-text.ts", "reading.ts"].map((file) => `src/reader/documents/${file}`),
      "src/reader/protocol.ts",
      "src/reader/process.ts",
    ],
    types: ["src/sandbox/types.ts"],
    why: "files are decoded by reader processes, but for plain text, and by ffmpeg in the sandbox that it is given",
  },
  {
    from: "src/search/",
    may: [CORE, "src/net/", "src/reader/protocol.ts", "src/reader/process.ts"],
    why: "HTML is parsed by the reader process",
  },
  { from: "src/responses/", may: [CORE, "src/dialects/responses/"], why: "no HTTP" },
  { from: "src/http/", may: [CORE, "src/dialects/"], types: ["src/responses/"], why: "no engine" },
  { from: "src/backends/", may: [CORE], types: [PROTOCOL] },
  { from: "src/rpc/", may: [CORE], why: "no settings, no engine" },
  {
    from: "src/cli/",
    may: [CORE, "src/config/", "src/hub/", "src/backends/catalog.ts", "src/clients/"],
    types: ["src/backends/command.ts", "src/rpc/command.ts"],
  },
  {
    from: "src/cli/chat/",
    may: [CORE, "src/reader/protocol.ts", "src/reader/documents/reading.ts"],
    why: "conversations and terminals only",
  },
  {
    from: "src/worker/",
    may: [CORE, PROTOCOL],
    why: "the engine process shares one file with the serving process",
  },
  { from: WORKER_SHARED, may: [CORE, PROTOCOL] },
  ...["text", "image", "speech"].flatMap(workerRules),
  { from: "src/quantize/tensor-types.ts", may: [CORE, "src/lora/gguf-write.ts"], why: "writes GGUF files" },
  { from: "src/worker/quantize.ts", may: ["ffi/", "src/worker/calibrate.ts"] },
  { from: "src/worker/calibrate.ts", may: ["ffi/"], types: [PROTOCOL, "src/worker/text/backend.ts"] },
  { from: "src/worker/machine-speed.ts", may: [CORE, "ffi/"] },
  { from: "src/worker/rpc-devices.ts", may: ["ffi/"], types: [PROTOCOL] },
  {
    from: "src/models/",
    may: [
      ...rooms("config", "convert", "core", "engine", "hub", "lora", "quantize", "sandbox"),
      "ffi/embedded.ts",
      "ffi/linux/usable-cores.ts",
    ],
    why: "no HTTP, no dialect: where models lie, what they need, what the server may load",
  },
  {
    from: "src/app/",
    may: [
      ...rooms(
        "access",
        "agent",
        "backends",
        "config",
        "convert",
        "core",
        "engine",
        "exec",
        "files",
        "http",
        "hub",
        "images",
        "lora",
        "mcp",
      ),
      ...rooms(
        "measure",
        "metrics",
        "models",
        "net",
        "quantize",
        "responses",
        "rpc",
        "sandbox",
        "search",
        "sessions",
        "skills",
      ),
      ...rooms("state", "system", "traces", "upstream", "media", "update"),
      "src/reader/process.ts",
      "ffi/embedded.ts",
      "ffi/linux/listen-backlog.ts",
      "ffi/nvml.ts",
      "ffi/linux/usable-cores.ts",
    ],
    why: "the composition root; neither a dialect nor the engine process",
  },
  {
    from: "src/commands/",
    may: [
      ...rooms("access", "app", "cli", "clients", "config", "core", "hub", "models", "quantize", "update"),
      "src/worker/main.ts",
      "src/worker/machine-speed.ts",
      "src/worker/quantize.ts",
      "src/worker/rpc-devices.ts",
      "src/lora/convert-process.ts",
    ],
    types: ["src/backends/command.ts"],
    why: "one file per command",
  },
  {
    from: "src/main.ts",
    may: [
      ...rooms("cli", "commands"),
      "src/config/proxy.ts",
      "src/core/start-error.ts",
      "src/core/visible-text.ts",
    ],
  },
  {
    from: "src/entry.ts",
    may: [
      "src/core/launcher.ts",
      "src/core/parent-pipe.ts",
      "src/reader/protocol.ts",
      "src/reader/main.ts",
      "src/main.ts",
      "ffi/linux/network-guard.ts",
      "ffi/linux/parent-death.ts",
      "ffi/linux/sandbox-launcher.ts",
      "ffi/linux/socket-memory.ts",
    ],
    why: "loads as little as it can",
  },
  { from: "src/build.ts", may: ["src/backends/", "src/http/ui-bundle.ts", "prebuilt/inputs.ts"] },
  {
    from: "ui/",
    may: [
      "src/reader/documents/",
      "src/reader/html-text.ts",
      "src/reader/ranking.ts",
      "src/clients/client.ts",
      "src/clients/clients.ts",
      "src/clients/text.ts",
      "src/core/catalogue.ts",
      "src/core/wav.ts",
      "src/core/defined.ts",
      "src/core/prompt-pace.ts",
      "src/core/sampling.ts",
      "src/core/visible-text.ts",
    ],
    types: [CORE, "src/dialects/"],
    why: "runs in browsers, speaks the public API",
  },
  {
    from: "src/grammar/",
    may: [CORE],
    types: ["src/worker/text/backend.ts", "src/worker/text/constraint-backend.ts"],
    why: "text in, text out: nothing native, no model",
  },
  {
    from: "ffi/",
    may: [CORE, "src/grammar/", "prebuilt/", "demo-model/"],
    types: [
      "src/worker/text/backend.ts",
      "src/worker/text/constraint-backend.ts",
      "src/worker/text/embed-backend.ts",
      "src/worker/text/media-backend.ts",
      "src/worker/image/backend.ts",
      "src/worker/speech/backend.ts",
      "src/worker/speech/network.ts",
      PROTOCOL,
    ],
    why: "implements the interfaces of the worker",
  },
];

/** Packages and where they may be used. One that is missing here may be used nowhere. */
export const PACKAGE_RULES: Readonly<Record<string, readonly string[]>> = {
  "bun:ffi": ["ffi/"],
  "bun:sqlite": ["src/state/", "src/core/temporary.ts"],
  elysia: ["src/http/"],
  "@elysiajs/swagger": ["src/http/"],
  "swagger-ui-dist": ["src/http/"],
  "@fastify/busboy": ["src/http/"],
  yaml: ["src/skills/", "src/clients/"],
  yauzl: ["src/skills/", "src/backends/"],
  "@sinclair/typebox": [
    ...rooms(
      "access",
      "agent",
      "cli",
      "clients",
      "config",
      "convert",
      "core",
      "dialects",
      "exec",
      "http",
      "hub",
      "lora",
      "search",
      "skills",
      "upstream",
      "worker",
    ),
    "ui/",
  ],
  "fast-png": ["src/reader/media/", "src/worker/"],
  "onnxruntime-web": ["ffi/"],
  "@modelcontextprotocol/client": ["src/mcp/"],
  linkedom: ["src/reader/"],
  "@mozilla/readability": ["src/reader/"],
  "html-to-text": ["src/reader/"],
  minisearch: ["src/reader/"],
  re2js: ["src/agent/"],
  "html-encoding-sniffer": ["src/search/"],
  "ipaddr.js": ["src/net/"],
  commander: ["src/cli/"],
  "cli-progress": ["src/cli/"],
  "smol-toml": ["src/config/", "src/clients/"],
  "jsonc-parser": ["src/config/", "src/clients/"],
  "prom-client": ["src/metrics/"],
  "@huggingface/hub": ["src/hub/"],
  preact: ["ui/"],
  "@preact/signals": ["ui/"],
  "eventsource-parser": ["ui/", "src/cli/"],
  idb: ["ui/"],
  marked: ["ui/"],
  entities: ["ui/"],
  lowlight: ["ui/"],
  temml: ["ui/"],
  "highlight.js": ["ui/"],
  lucide: ["ui/"],
  uplot: ["ui/"],
  "pdfjs-dist": ["src/reader/documents/", "ui/"],
  "@jsquash/avif": ["src/reader/media/"],
  "libheif-js": ["src/reader/media/"],
  omggif: ["src/reader/media/"],
  "@hyzyla/pdfium": ["src/reader/media/"],
  "@wasm-audio-decoders/flac": ["src/reader/media/"],
  "@wasm-audio-decoders/ogg-vorbis": ["src/reader/media/"],
  "codec-parser": ["src/reader/media/"],
  "mpg123-decoder": ["src/reader/media/"],
  "opus-decoder": ["src/reader/media/"],
  utif2: ["src/reader/media/"],
  fflate: ["src/reader/documents/", "ui/"],
  htmlparser2: ["src/backends/", "src/reader/", "ui/"],
  "@mermaid-js/tiny": ["ui/"],
};
