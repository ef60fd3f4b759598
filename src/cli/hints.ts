// Hints below errors of the command line: usage, and svc's equivalents of other programs' commands and flags.

import type { Command } from "commander";
import { isSetting } from "./setting-flags.ts";

/** Commands of other programs. */
const COMMANDS: Readonly<Record<string, string>> = {
  chat: "To chat in the terminal: svc run",
  download: "To download a model: svc pull owner/name",
  start: "To start the server: svc serve",
  up: "To start the server: svc serve",
};

/** Flags of other programs: the same flag here, or an explanation. */
const FLAGS: Readonly<Record<string, string>> = {
  "--api-key": "--api-keys",
  "--batch-size": "--batch",
  "--ctx-size": "--max-seq-len",
  "--device-layers": "--num-device-layers",
  "--gpu-layers": "--num-device-layers",
  "--gpu-memory-utilization": "--memory-fraction",
  "--hf-repo": "--model owner/name",
  "--lora-modules": "--lora",
  "--max-model-len": "--max-seq-len",
  "--max-num-seqs": "--max-seqs",
  "--model-path": "--model",
  "--n-gpu-layers": "--num-device-layers",
  "--ngl": "--num-device-layers",
  "--num-ctx": "--max-seq-len",
  "--parallel": "--max-seqs",
  "--served-model-name": "--alias",
  "--ubatch-size": "--ubatch",
  "-fa": "flash attention is always on",
  "-hf": "--model owner/name",
  "-n": "requests bound their answers: max_tokens; svc run has --max-tokens",
  "-ngl": "--num-device-layers",
  "-np": "--max-seqs",
  "--flash-attn": "flash attention is always on",
  "--jinja": "chat templates are always used",
  "--temp": "requests choose it: temperature; svc run has --temperature",
  "--temperature": "requests choose it: temperature; svc run has --temperature",
};

/** Examples of commands whose arguments are missing or too many. */
const EXAMPLES: Readonly<Record<string, string>> = {
  pull: "svc pull Qwen/Qwen3-0.6B-GGUF:Q4_K_M",
  "cache delete": "svc cache delete Qwen/Qwen3-0.6B-GGUF",
  rm: "svc rm Qwen/Qwen3-0.6B-GGUF",
  convert: "svc convert owner/name Q4_K_M",
  quantize: "svc quantize model-f16.gguf Q4_K_M",
  show: "svc show default; svc list names the models",
  serve: "svc serve svc.toml, or svc serve -m MODEL",
  completions: "svc completions bash",
  "from-config": "svc from-config -f svc.toml",
  "backend install": "svc backend install vulkan",
};

/** The command that the arguments name, and its words. */
function commandOf(program: Command, argv: readonly string[]): { command: Command; path: readonly string[] } {
  let command = program;
  const path: string[] = [];
  for (const word of argv) {
    const next = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (next === undefined) break;
    command = next;
    path.push(next.name());
  }
  return { command, path };
}

/** Usage of the command that the arguments name, and an example. */
function usageOf(program: Command, argv: readonly string[]): string {
  const { command, path } = commandOf(program, argv);
  const example = EXAMPLES[path.join(" ")];
  const commands = command.commands.map((one) => one.name()).filter((name) => name !== "help");
  return [
    `Usage: ${["svc", ...path].join(" ")} ${commands.length > 0 ? commands.join("|") : command.usage()}`,
    ...(example === undefined ? [] : [`Example: ${example}`]),
  ].join("\n");
}

/** How to list the flags of the command that the arguments name. */
function helpOf(program: Command, argv: readonly string[]): string {
  const { command, path } = commandOf(program, argv);
  const flag = command.options.some(isSetting) ? "--help-all" : "--help";
  return ["svc", ...path, flag].join(" ");
}

/** A hint for an error of commander, given the command line; "" for none. */
export function hintFor(complaint: string, argv: readonly string[], program: Command): string {
  const [, command = ""] = /unknown command '([^']+)'/.exec(complaint) ?? [];
  if (command !== "")
    return COMMANDS[command] ?? (argv.length > 1 ? usageOf(program, argv) : "svc --help lists all commands.");
  if (argv[0] === "stop" && complaint.includes("missing required argument"))
    return "svc stop MODEL unloads a model. To end the server: Ctrl-C, or systemctl --user stop svc for its service.";
  const [, valueless] = /option '(?:-\w, )?(--[\w-]+) <[^']*' argument missing/.exec(complaint) ?? [];
  if (valueless !== undefined)
    return `Give a value: ${valueless} VALUE. ${helpOf(program, argv)} describes it.`;
  const [, unknown = ""] = /unknown option '([^']+)'/.exec(complaint) ?? [];
  if (unknown === "") return usageOf(program, argv);
  // commander parses -ngl as -n with further flags.
  const [word = "", value] = (argv.find((one) => one.startsWith(unknown)) ?? unknown).split("=");
  const same = FLAGS[word] ?? FLAGS[unknown];
  if (same !== undefined) return same.startsWith("-") ? `Here that is ${same}.` : `${word}: ${same}.`;
  if (value !== undefined && isSwitch(program, word))
    return `${word} is a switch: ${word} or --no-${word.slice(2)}.`;
  return `${helpOf(program, argv)} lists all flags.`;
}

function isSwitch(program: Command, flag: string): boolean {
  return program.commands.some(({ options }) =>
    options.some((option) => option.long === flag && option.isBoolean()),
  );
}
