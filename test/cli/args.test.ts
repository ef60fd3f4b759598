// Command lines to invocations, help and usage errors.

import { describe, expect, test } from "bun:test";
import { parseArgs } from "../../src/cli/args.ts";
import type { Invocation } from "../../src/cli/invocation.ts";
import { ROWS } from "../../src/config/table.ts";

function parse(line: string): Invocation {
  return parseArgs(line.split(" ").filter((word) => word !== ""));
}

test.each<[string, Invocation]>([
  ["serve", { command: "serve", flags: {} }],
  ["serve svc.toml", { command: "serve", configFile: "svc.toml", flags: {} }],
  ["serve -p 80 --host ::1", { command: "serve", flags: { "server.port": "80", "server.host": "::1" } }],
  ["serve --port=80", { command: "serve", flags: { "server.port": "80" } }],
  ["serve -m a.gguf -m b.gguf", { command: "serve", flags: { "models[].model_id": ["a.gguf", "b.gguf"] } }],
  [
    "serve --cpu svc.toml",
    { command: "serve", configFile: "svc.toml", flags: { "models[].device.cpu": true } },
  ],
  ["serve --no-cpu", { command: "serve", flags: { "models[].device.cpu": false } }],
  [
    "serve --alias a=b --alias small --alias c-*=d",
    { command: "serve", flags: { "models[].alias": "small", aliases: "a=b,c-*=d" } },
  ],
  ["doctor --json", { command: "doctor", json: true, flags: {} }],
  ["doctor --fix", { command: "doctor", json: false, fix: "ask", flags: {} }],
  ["doctor --fix --yes", { command: "doctor", json: false, fix: "unasked", flags: {} }],
  ["serve --no-ui", { command: "serve", flags: { "server.no_ui": true } }],
  ["serve --ui", { command: "serve", flags: { "server.no_ui": false } }],
  ["serve --paged-attn off", { command: "serve", flags: { "paged_attn.mode": "off" } }],
  ["serve --seed -3", { command: "serve", flags: { "global.seed": "-3" } }],
  ["run", { command: "run", files: [], flags: {} }],
  ["run svc.toml -i hello", { command: "run", configFile: "svc.toml", input: "hello", files: [], flags: {} }],
  ["run --no-thinking", { command: "run", files: [], flags: { thinking: false } }],
  [
    "run --temperature 0.2 --top-k 5 --top-p 0.9 --max-tokens 40 --think low hi",
    {
      command: "run",
      input: "hi",
      files: [],
      flags: {},
      choices: {
        sampling: { temperature: 0.2, topK: 5, topP: 0.9 },
        maxTokens: 40,
        thinking: { enabled: true, effort: "low" },
      },
    },
  ],
  ["run --system Terse.", { command: "run", files: [], flags: {}, choices: { system: "Terse." } }],
  ["run why not", { command: "run", input: "why not", files: [], flags: {} }],
  [
    "run -m a.gguf chat.toml why --attach a.txt --attach b.txt",
    {
      command: "run",
      configFile: "chat.toml",
      input: "why",
      files: [
        { kind: "file", path: "a.txt" },
        { kind: "file", path: "b.txt" },
      ],
      flags: { "models[].model_id": ["a.gguf"] },
    },
  ],
  [
    "run what --image a.png --audio b.wav --image c.png --video d.mp4",
    {
      command: "run",
      input: "what",
      files: [
        { kind: "image", path: "a.png" },
        { kind: "image", path: "c.png" },
        { kind: "audio", path: "b.wav" },
        { kind: "video", path: "d.mp4" },
      ],
      flags: {},
    },
  ],
  [
    "bench --prompt-len 1,20 --gen-len 0 --concurrency 4 --roofline --json",
    {
      command: "bench",
      promptLens: [1, 20],
      genLens: [0],
      depths: [0],
      concurrencies: [4],
      repetitions: 5,
      roofline: true,
      json: true,
      flags: {},
    },
  ],
  ["tune --profile fast", { command: "tune", profile: "fast", json: false, flags: {} }],
  ["from-config -f svc.toml", { command: "from-config", configFile: "svc.toml", files: [], flags: {} }],
  ["config check", { command: "config-check", flags: {} }],
  [
    "config show a.toml -p 1",
    { command: "config-show", configFile: "a.toml", flags: { "server.port": "1" } },
  ],
  [
    "pull acme/tiny:Q4_K_M --hf-cache hub",
    {
      command: "pull",
      projector: "auto",
      draft: "auto",
      flags: { "models[].model_id": ["acme/tiny:Q4_K_M"], "models[].device.hf_cache": "hub" },
    },
  ],
  [
    "pull hibari:emma --index https://index.example/simple",
    {
      command: "pull",
      projector: "auto",
      draft: "auto",
      voice: { id: "hibari:emma", index: "https://index.example/simple" },
      flags: {},
    },
  ],
  ["cache list", { command: "cache-list", flags: {} }],
  ["cache purge --cache-disk kv", { command: "cache-purge", flags: { "runtime.cache_disk": "kv" } }],
  [
    "cache delete acme/tiny --hf-cache hub",
    { command: "cache-delete", id: "acme/tiny", flags: { "models[].device.hf_cache": "hub" } },
  ],
  ["login", { command: "login" }],
  ["rpc-worker", { command: "rpc-worker", host: "127.0.0.1", port: 50_052 }],
  [
    "rpc-worker --listen 0.0.0.0:1 --threads 3",
    { command: "rpc-worker", host: "0.0.0.0", port: 1, threads: 3 },
  ],
  ["engine --help -m x", { command: "engine", args: ["--help", "-m", "x"] }],
])("svc %s", (line, invocation) => {
  expect(parse(line)).toEqual(invocation);
});

test("--version prints the name and the version", () => {
  expect(parse("--version")).toEqual({ command: "print", text: "svc 0.9.4\n" });
});

describe("help", () => {
  test("shows every flag that works, its default, and none of the others", () => {
    const help = parse("serve --help-all");
    if (help.command !== "print") throw new Error("must print");
    for (const { flag, status } of ROWS) {
      if (flag === undefined) continue;
      const isShown = new RegExp(`(^|[ ,])${flag}( |$)`, "m").test(help.text);
      expect([flag, isShown]).toEqual([flag, status === "available"]);
    }
    expect(help.text.replaceAll(/\s+/g, " ")).toContain("(default: 1234)");
  });

  test("begins with examples and the common flags, without the others", () => {
    const help = parse("serve --help");
    if (help.command !== "print") throw new Error("must print");
    expect(help.text.split("\n").length).toBeLessThan(60);
    for (const word of [
      "--model",
      "--max-seq-len",
      "--port",
      "--api-keys",
      "--agent",
      "svc serve -m",
      "--help-all",
    ])
      expect(help.text).toContain(word);
    expect(help.text).not.toContain("--t5xxl");
  });

  test.each<[string, string, string]>([
    ["run --help", "Port of the running server", 'svc run "What is the capital of France?"'],
    ["ps --help", "Address of the running server", "--json"],
    ["bench --help", "--max-seqs", "--prompt-len"],
  ])("of %s describes that command, not the server", (line, first, second) => {
    const help = parse(line);
    if (help.command !== "print") throw new Error("must print");
    for (const word of [first, second]) expect(help.text).toContain(word);
    expect(help.text).not.toMatch(/to listen on|svc serve -m|--compat/);
  });

  test.each([
    ["stop", "svc stop MODEL unloads a model. To end the server: Ctrl-C"],
    ["ps --ctx-size 1", "Here that is --max-seq-len."],
    ["serve --ctx-size 4096", "Here that is --max-seq-len."],
    ["serve -ngl 99", "Here that is --num-device-layers."],
    ["serve --n-gpu-layers=99", "Here that is --num-device-layers."],
    ["serve --temp 1", "requests choose it: temperature"],
    ["serve --max-seqlen 1", "Did you mean --max-seq-len?"],
    ["serve --no-such-thing", "svc serve --help-all lists all flags"],
    ["run --no-such-thing", "svc run --help-all lists all flags"],
    ["cache list --no-such-thing", "svc cache list --help-all lists all flags"],
    ["--no-such-thing", "svc --help lists all flags"],
    ["run --think", "svc run --help-all describes it"],
    ["pull qwen", "names no repository"],
  ])("%s is refused with what to write instead", (line, hint) => {
    const said = parse(line);
    if (said.command !== "usage-error") throw new Error("must be refused");
    expect(said.text).toContain(hint);
  });

  test.each(["version", "-v"])("%s prints the version", (line) => {
    expect(parse(line)).toEqual({ command: "print", text: "svc 0.9.4\n" });
  });

  test("names the commands and the exit codes, and not the hidden one", () => {
    const help = parse("--help");
    if (help.command !== "print") throw new Error("must print");
    for (const word of [
      "serve",
      "run",
      "from-config",
      "config",
      "pull",
      "cache",
      "login",
      "bench",
      "tune",
      "completions",
      "Exit codes: 0",
    ])
      expect(help.text).toContain(word);
    expect(help.text).not.toContain("engine");
  });
});

test.each([
  ["", "Usage: svc"],
  ["config", "Usage: svc config"],
  ["serv", "Did you mean serve?"],
  ["pull", "missing required argument 'model'"],
  ["pull a/b --port 3", "unknown option"],
  ["login secret", "too many arguments"],
  ["serve --prot 80", "Did you mean --port?"],
  ["serve --port", "argument missing"],
  ["serve a.toml b.toml", "too many arguments"],
  ["run -i one two", "the prompt is given twice"],
  ["bench --depth x", "must be whole numbers from 0"],
  ["bench --concurrency 0", "must be whole numbers from 1"],
  ["tune --profile best", "Allowed choices are quality, balanced, fast"],
  ["completions csh", "Allowed choices are bash, zsh, fish"],
  ["from-config", "'-f, --file <file>' not specified"],
])("svc %s is a usage error: %s", (line, words) => {
  const invocation = parse(line);
  if (invocation.command !== "usage-error") throw new Error("must be refused");
  expect(invocation.text).toContain(words);
});
