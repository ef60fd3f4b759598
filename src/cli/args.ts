// Turns the words of a command line into one value that says what to do. Does nothing itself: no output, no exit, no
// file. Setting flags come from the settings table; commander does the parsing and writes the help.

import { Command, CommanderError, Option } from "commander";
import type { Flags } from "../config/sources.ts";
import { header, ROWS, sectionAt, usableValues, type Row } from "../config/table.ts";
import { VERSION } from "../core/version.ts";

const MODEL_ID = "models[].model_id";
const CACHE_FLAGS = ["models[].device.hf_cache"];
const PULL_FLAGS = [
  ...CACHE_FLAGS,
  "models[].format.quantized_file",
  "models[].quantization.quant",
  "global.token_source",
];

/** Exit codes of the process. */
export const EXIT = { ok: 0, failure: 1, usage: 2 } as const;

/** What settings are made of, as every command that needs them takes it. */
export interface SettingsArgs {
  readonly configFile?: string;
  readonly flags: Flags;
}

/** What to do. `input` is the prompt of a one-shot `run`; it has no meaning for a server. */
export type Invocation =
  | ({ readonly command: "serve" } & SettingsArgs)
  | ({ readonly command: "run"; readonly input?: string } & SettingsArgs)
  | ({ readonly command: "from-config"; readonly input?: string } & SettingsArgs)
  | ({ readonly command: "config-check" } & SettingsArgs)
  | ({ readonly command: "config-show" } & SettingsArgs)
  | ({ readonly command: "doctor"; readonly json: boolean } & SettingsArgs)
  /** Flags hold the model too. */
  | ({ readonly command: "pull" } & SettingsArgs)
  | ({ readonly command: "cache-list" } & SettingsArgs)
  | ({ readonly command: "cache-delete"; readonly id: string } & SettingsArgs)
  | { readonly command: "login" }
  /** The hidden engine process; its words are its own. */
  | { readonly command: "engine"; readonly args: readonly string[] }
  /** --help and --version: print on stdout, exit 0. */
  | { readonly command: "print"; readonly text: string }
  /** Print on stderr, exit 2. */
  | { readonly command: "usage-error"; readonly text: string };

const FOOTER = `
A file, a flag and the environment name the same settings: flags win over the
environment (SVC_PORT), which wins over the file, which wins over the defaults.
Each switch also has a --no- form. Flags about a model hold for all models.

Exit codes: 0 all went well; 1 it failed while running (port in use, model does
not load); 2 wrong command line or configuration.`;

/** Reads the words after the executable's name. */
export function parseArgs(argv: readonly string[]): Invocation {
  if (argv[0] === "engine") return { command: "engine", args: argv.slice(1) };
  let printed = "";
  let complaint = "";
  let invocation: Invocation | undefined;
  const program = new Command("svc")
    .description("Serves AI models on this machine over HTTP, or chats with one in the terminal.")
    .version(`svc ${VERSION}`, "-V, --version", "print the version")
    .addHelpText("after", FOOTER)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => (printed += text),
      writeErr: (text) => (complaint += text),
    });
  addCommands(program, (chosen) => (invocation = chosen));
  addHubCommands(program, (chosen) => (invocation = chosen));
  try {
    program.parse(argv, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return { command: "print", text: printed };
    return { command: "usage-error", text: complaint.trimEnd() };
  }
  return invocation ?? { command: "usage-error", text: program.helpInformation() };
}

function addCommands(program: Command, choose: (invocation: Invocation) => void): void {
  const fileText = "TOML file with settings";
  const inputText = "answer this prompt and end";

  const serve = program.command("serve").description("Start the HTTP server.").argument("[config]", fileText);
  withSettings(serve).action((file: string | undefined) =>
    choose({ command: "serve", ...configFile(file), flags: flagsOf(serve) }),
  );

  const run = program
    .command("run")
    .description("Chat with a model in the terminal.")
    .argument("[config]", fileText);
  run.option("-i, --input <text>", inputText);
  withSettings(run).action((file: string | undefined, { input }: { input?: string }) =>
    choose({
      command: "run",
      ...configFile(file),
      ...(input === undefined ? {} : { input }),
      flags: flagsOf(run),
    }),
  );

  const from = program
    .command("from-config")
    .description("Do what the file's `command` says (serve unless it says).");
  from.requiredOption("-f, --file <file>", fileText).option("-i, --input <text>", inputText);
  withSettings(from).action(({ file, input }: { file: string; input?: string }) =>
    choose({
      command: "from-config",
      configFile: file,
      ...(input === undefined ? {} : { input }),
      flags: flagsOf(from),
    }),
  );

  const doctor = program
    .command("doctor")
    .description("Look for trouble: processor, memory, disk, models, port.")
    .argument("[config]", fileText);
  doctor.option("--json", "print the report as JSON", false);
  withSettings(doctor).action((file: string | undefined, { json }: { json: boolean }) =>
    choose({ command: "doctor", ...configFile(file), json, flags: flagsOf(doctor) }),
  );

  const config = program.command("config").description("Look at a configuration without starting anything.");
  const check = config.command("check").description("List every problem.").argument("[config]", fileText);
  withSettings(check).action((file: string | undefined) =>
    choose({ command: "config-check", ...configFile(file), flags: flagsOf(check) }),
  );
  const show = config
    .command("show")
    .description("Print all settings and who set them.")
    .argument("[config]", fileText);
  withSettings(show).action((file: string | undefined) =>
    choose({ command: "config-show", ...configFile(file), flags: flagsOf(show) }),
  );
}

/** Commands about models that are not running. */
function addHubCommands(program: Command, choose: (invocation: Invocation) => void): void {
  const idText = "owner/name, owner/name:Q4_K_M, owner/name:file.gguf, each with @revision";
  const pull = program
    .command("pull")
    .description("Download a model of the hub, or bring it up to date.")
    .argument("<model>", idText);
  withSettings(pull, PULL_FLAGS).action((id: string) =>
    choose({ command: "pull", flags: { ...flagsOf(pull), [MODEL_ID]: [id] } }),
  );

  const cache = program.command("cache").description("Look after downloaded models.");
  const list = cache.command("list").description("List downloaded GGUF files.");
  withSettings(list, CACHE_FLAGS).action(() => choose({ command: "cache-list", flags: flagsOf(list) }));
  const remove = cache
    .command("delete")
    .description("Delete a downloaded repository, or one revision or model of it.")
    .argument("<model>", idText);
  withSettings(remove, CACHE_FLAGS).action((id: string) =>
    choose({ command: "cache-delete", id, flags: flagsOf(remove) }),
  );

  program
    .command("login")
    .description("Store a hub token, read from the standard input.")
    .action(() => choose({ command: "login" }));
}

function configFile(file: string | undefined): { readonly configFile?: string } {
  return file === undefined ? {} : { configFile: file };
}

/**
 * Adds one option for each row, or for those named. A row without behaviour gets a hidden one, so that its own message can
 * be given.
 */
function withSettings(command: Command, paths?: readonly string[]): Command {
  const isOfModels = (row: Row): boolean => row.section.startsWith("models");
  // What people look for most comes first in the help.
  const rows = [...ROWS.filter(isOfModels), ...ROWS.filter((row) => !isOfModels(row))];
  for (const row of rows) {
    if (row.flag === undefined || paths?.includes(row.path) === false) continue;
    const option = optionOf(row, row.flag);
    if (row.status !== "available") option.hideHelp();
    command.addOption(option);
    if (row.type === "boolean") command.addOption(new Option(opposite(row.flag)).hideHelp());
  }
  return paths === undefined ? command.addHelpText("after", FOOTER) : command;
}

function optionOf(row: Row, flag: string): Option {
  const names = row.short === undefined ? flag : `${row.short}, ${flag}`;
  const word = valueWord(row);
  const spec = row.type === "boolean" ? names : `${names} <${word}>`;
  const words = word === "word" ? ` One of ${usableValues(row).join(", ")}.` : "";
  const isStated = row.defaultValue !== undefined && row.type !== "boolean";
  const fallback = isStated ? ` (default: ${String(row.defaultValue)})` : "";
  const option = new Option(spec, row.description + words + fallback).helpGroup(groupOf(row));
  if (row.path !== MODEL_ID) return option;
  return option.argParser<readonly string[] | undefined>((path, earlier) => [...(earlier ?? []), path]);
}

function groupOf(row: Row): string {
  const section = sectionAt(row.section);
  return section === undefined ? "General:" : `${header(section)}:`;
}

function valueWord(row: Row): string {
  if (row.path === MODEL_ID) return "model";
  if (row.isPath) return "file";
  if (row.isFolder) return "folder";
  // Long lists would push every description to the right; they go into the description.
  if (row.type === "choice") return usableValues(row).length > 3 ? "word" : usableValues(row).join("|");
  return row.type === "integer" || row.type === "number" ? "n" : row.type;
}

/** `--cpu` ↔ `--no-cpu`. */
function opposite(flag: string): string {
  return flag.startsWith("--no-") ? `--${flag.slice(5)}` : `--no-${flag.slice(2)}`;
}

/** What was said on the command line, and nothing that commander filled in. */
function flagsOf(command: Command): Flags {
  const flags: Record<string, string | boolean | readonly string[]> = {};
  for (const row of ROWS) {
    if (row.flag === undefined) continue;
    const option = new Option(row.flag);
    const attribute = option.attributeName();
    if (command.getOptionValueSource(attribute) !== "cli") continue;
    const value: unknown = command.getOptionValue(attribute);
    if (typeof value === "string") flags[row.path] = value;
    // commander stores `--no-x` as x = false.
    if (typeof value === "boolean") flags[row.path] = value !== option.negate;
    if (Array.isArray(value)) flags[row.path] = value.map(String);
  }
  return flags;
}
