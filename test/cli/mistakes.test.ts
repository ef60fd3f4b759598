// Mistakes of a tired user on the command line: each is answered with what is wrong, where, and how to fix it. Those that
// show only while something runs are in test/e2e/mistakes.test.ts.

import { beforeAll, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "../../src/cli/args.ts";
import { formatProblems } from "../../src/config/problem.ts";
import { loadSettings } from "../../src/config/resolve.ts";
import { TINY_FILE } from "../helpers/binary.ts";
import { tempDir } from "../helpers/tmp.ts";

const folder = tempDir();

beforeAll(() => {
  mkdirSync(join(folder, "empty"));
  writeFileSync(join(folder, "text.gguf"), "hello");
  writeFileSync(join(folder, "x.safetensors"), "");
  writeFileSync(join(folder, "model.toml"), '[[models]]\nmodel = "m.gguf"\n');
  writeFileSync(join(folder, "port.toml"), `port = 1\n[[models]]\nmodel_id = "${TINY_FILE}"\n`);
  writeFileSync(join(folder, "none.toml"), "[server]\nport = 1\n");
  writeFileSync(join(folder, "cut.toml"), "[server\n");
});

/** What svc prints for a command line before it starts anything; "" for a good one. */
function complaint(line: string, environment: Readonly<Record<string, string>> = {}): string {
  const invocation = parseArgs(line === "" ? [] : line.split(" "));
  if (invocation.command === "usage-error") return invocation.text;
  if (!("flags" in invocation)) return "";
  const { flags, configFile: file } = { configFile: undefined, ...invocation };
  const named = file === undefined ? {} : { configFile: file };
  const loaded = loadSettings({ ...named, flags, environment, folder, requireModel: true });
  return loaded.ok ? loaded.notices.join("\n") : formatProblems(loaded.problems);
}

test.each([
  // command line, what is wrong and where, how to fix it
  ["", "Usage: svc [options] [command]", "serve"],
  ["srve", "unknown command 'srve'", "Did you mean serve?"],
  ["deploy", "unknown command 'deploy'", "svc --help lists all commands"],
  ["up", "unknown command 'up'", "svc serve"],
  ["serve --prot 1", "unknown option '--prot'", "Did you mean --port?"],
  ["serve --port", "option '-p, --port <n>' argument missing", "--port VALUE"],
  ["serve --port abc", '--port: "abc" is not an integer from 0 to 65535', "default, 1234"],
  ["serve --port 99999", "--port: 99999 is not an integer", "default, 1234"],
  ["serve --ctx-size 4096", "unknown option '--ctx-size'", "--max-seq-len"],
  ["serve -ngl 99", "unknown option '-n", "--num-device-layers"],
  ["serve -c 8192", "8192", "--max-seq-len 8192"],
  ["serve --enable-code-execution=yes", "unknown option", "is a switch"],
  ["serve a.toml b.toml", "too many arguments", "Example: svc serve svc.toml"],
  ["serve text.gguf", "this is a model, not a configuration", "svc serve -m text.gguf"],
  ["serve absent.toml", "absent.toml: there is no such file", "Check the path"],
  ["serve cut.toml", "cut.toml", "line 1"],
  ["serve model.toml", "models[0].model: unknown key", "svc calls it model_id."],
  ["serve port.toml", "port: unknown key", "belongs in [server]"],
  ["serve none.toml", "none.toml: models: no model is named", "Add [[models]]"],
  ["serve -m absent.gguf", "--model: absent.gguf: there is no such file or folder", "owner/name"],
  ["serve -m empty", "--model: empty: there is no GGUF file in it", "Only GGUF models"],
  ["serve -m text.gguf", "text.gguf: this is not a GGUF file", "-GGUF"],
  ["serve -m x.safetensors", "x.safetensors: this is not a GGUF file", "-GGUF"],
  ["serve -m https://huggingface.co/Qwen/Qwen3-0.6B-GGUF", "web address", "Qwen/Qwen3-0.6B-GGUF"],
  ["serve -m svc-tiny -m svc-tiny", "has the same name as models[0]", "alias"],
  ["serve --max-seq-len 4k", '--max-seq-len: "4k" is not an integer', "Give a value like"],
  ["serve --max-seq-len 0", "--max-seq-len: 0 is not an integer of at least 64", "Give a value like"],
  ["serve --lora red", '--lora: ["red"] has an invalid entry', "Give a value like"],
  ["serve --mmproj absent.gguf", "--mmproj: absent.gguf: there is no such file", "Check the path"],
  ["serve --cache-type q8", '--cache-type: "q8" is not one of', 'Did you mean "q8_0"?'],
  ["serve --threads -1", "--threads: -1 is not an integer from 1", "Give a value like"],
  ["serve --sandbox maybe", '--sandbox: "maybe" is not one of auto, on, off', "default"],
  ["serve --state mysql:x", '--state: "mysql:x" is not `memory` or `sqlite:FILE`', "default"],
  ["serve --mcp-config absent.json", "absent.json: there is no such file", "Check the path"],
  ["run -i one two", "the prompt is given twice, as -i and as words", "Leave out one"],
  ["run --temperature 3 hi", "--temperature must be from 0 to 2", ""],
  ["run --top-p 0 hi", "--top-p must be above 0, at most 1", ""],
  ["run --top-k 1.5 hi", "--top-k must be whole, 0 or more", ""],
  ["run --max-tokens 0 hi", "--max-tokens must be whole, 1 or more", ""],
  ["run --think hard hi", "--think must be on, off, low, medium, high, xhigh", ""],
  ["pull", "missing required argument 'model'", "Example: svc pull Qwen/Qwen3-0.6B-GGUF:Q4_K_M"],
  ["pull qwen", '"qwen" names no repository', "owner/name"],
  ["cache remove a/b", "unknown command 'remove'", "svc cache list|delete|purge"],
  ["quantize model.gguf", "missing required argument 'type'", "Example: svc quantize model-f16.gguf Q4_K_M"],
  ["convert", "missing required argument 'model'", "Example: svc convert owner/name Q4_K_M"],
  ["bench --prompt-len abc", "argument 'abc' is invalid", "whole numbers from 0"],
  ["tune --profile speed", "argument 'speed' is invalid", "quality, balanced, fast"],
  ["stop", "missing required argument 'model'", "Ctrl-C"],
  ["show", "missing required argument 'model'", "svc list names the models"],
  ["completions csh", "'csh' is invalid", "bash, zsh, fish"],
  ["from-config", "required option '-f, --file <file>' not specified", "svc from-config -f svc.toml"],
  ["config chek", "unknown command 'chek'", "Did you mean check?"],
  ["--verison", "unknown option '--verison'", "Did you mean --version?"],
])("svc %s", (line, what, fix) => {
  const text = complaint(line);
  expect(text).toContain(what);
  expect(text).toContain(fix);
  expect(text).not.toMatch(/undefined|\[object|at .*\.ts:/);
});

test("mistakes in the environment are found too", () => {
  expect(complaint("serve", { SVC_PORT: "abc" })).toContain('SVC_PORT: "abc" is not an integer');
  expect(complaint("serve", { SVC_PROT: "1" })).toContain("did you mean SVC_PORT?");
  expect(complaint("serve", { SVC_API_KEYS: ",," })).toMatch(/SVC_API_KEYS: .*Give a value like/);
});
