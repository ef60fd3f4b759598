// Maps the settings table to options of a command, and parsed options back to values by path.

import { type Command, Option } from "commander";
import type { Flags } from "../config/sources.ts";
import { header, ROWS, sectionAt, usableValues, type Row } from "../config/table.ts";
import { SERVER_FLAGS } from "./server-client.ts";

export const MODEL_ID = "models[].model_id";
/** A model's own alias; `NAME=MODEL` is an alias of any model. */
const MODEL_ALIAS = "models[].alias";
const ALIASES = "aliases";

/** Of settings in the help of a command. */
interface SettingsHelp {
  /** Settings in short help, in this order. */
  readonly common: readonly string[];
  readonly examples: readonly string[];
  /** Texts in place of the table's, by path. */
  readonly texts?: Readonly<Record<string, string>>;
}

const COMMON = [
  MODEL_ID,
  "models[].device.max_seq_len",
  "server.host",
  "server.port",
  "server.api_keys",
  "server.compat",
  "runtime.agent",
  "runtime.max_seqs",
  "runtime.threads",
  "models[].adapter.lora",
  "aliases",
];
const COMMON_GROUP = "Common settings:";

const SERVE_EXAMPLES = [
  "svc serve -m models/Qwen3-0.6B-Q4_K_M.gguf",
  "svc serve -m Qwen/Qwen3-4B-GGUF --max-seq-len 32768 --agent",
] as const;

/** Of commands that ask a running server. */
const SERVER_TEXTS = {
  "server.host": "Address of the running server, as it was given to svc serve.",
  "server.port": "Port of the running server.",
  "server.api_keys": "Key of the running server: as it is, env:NAME, or path:FILE.",
};

/** Help of svc serve. */
export const SERVING: SettingsHelp = { common: COMMON, examples: SERVE_EXAMPLES };
/** Help of commands that load a model for themselves. */
const LOADING: SettingsHelp = { common: COMMON, examples: [] };
const ASKING: SettingsHelp = { common: [], examples: [], texts: SERVER_TEXTS };
/** Help of measurements. */
export const MEASURING: SettingsHelp = {
  common: [MODEL_ID, "models[].device.max_seq_len", "runtime.threads", "runtime.max_seqs"],
  examples: [],
};
/** Help of chats, which use a running server or load a model. */
export const CHATTING: SettingsHelp = {
  common: [
    MODEL_ID,
    "models[].device.max_seq_len",
    "runtime.agent",
    "runtime.agent_permission",
    "runtime.threads",
    "models[].adapter.lora",
    ...SERVER_FLAGS,
  ],
  examples: [
    'svc run "What is the capital of France?"',
    'svc run -m Qwen/Qwen3-4B-GGUF --system "Answer in one sentence."',
    'svc run --attach report.pdf "What does the report conclude?"',
    "git log -5 | svc run --think off --max-tokens 200",
  ],
  texts: SERVER_TEXTS,
};

/** Lines of help that show how svc is called. */
function examplesText(examples: readonly string[]): string {
  if (examples.length === 0) return "";
  return ["", "Examples:", ...examples.map((example) => `  ${example}`), ""].join("\n");
}

/** Examples of svc itself. */
export const EXAMPLES = `${examplesText([...SERVE_EXAMPLES, 'svc run "What is the capital of France?"', "svc ps"])}
svc COMMAND --help describes a command, --help-all lists all settings.`;

/** Footer of the help of commands that take all settings. */
export const FOOTER = `
Settings are flags, environment variables (SVC_PORT) or lines of a TOML file.
Flags override the environment, which overrides the file. Each switch also has
a --no- form. Flags of a model apply to all models.

Exit codes: 0 success; 1 failure while running (port in use, model does not
load); 2 wrong command line or configuration.`;

/**
 * Adds one option for each row, or for the named ones. A row without behaviour gets a hidden option, so that its own error
 * is shown.
 */
export function withSettings(
  command: Command,
  paths?: readonly string[],
  { common: first, examples, texts = {} }: SettingsHelp = paths === undefined ? LOADING : ASKING,
): Command {
  const isOfModels = (row: Row): boolean => row.section.startsWith("models");
  const common = first.flatMap((path) => ROWS.find((row) => row.path === path) ?? []);
  const others = ROWS.filter((row) => !common.includes(row));
  const rows = [...common, ...others.filter(isOfModels), ...others.filter((row) => !isOfModels(row))];
  for (const row of rows) {
    if (row.flag === undefined || paths?.includes(row.path) === false) continue;
    const option = optionOf(row, row.flag, texts[row.path]);
    if (common.includes(row)) option.helpGroup(COMMON_GROUP);
    if (row.status !== "available") option.hideHelp();
    command.addOption(option);
    if (row.type === "boolean") command.addOption(new Option(opposite(row.flag)).hideHelp());
  }
  return paths === undefined
    ? command.addHelpText("after", `${examplesText(examples)}\n--help-all lists all settings.\n${FOOTER}`)
    : command;
}

/** Hides all but the common settings in help. */
export function hideRareSettings(program: Command): void {
  for (const command of program.commands) {
    hideRareSettings(command);
    if (!command.options.some((option) => option.helpGroupHeading === COMMON_GROUP)) continue;
    for (const option of command.options)
      if (SETTING_GROUPS.has(option.helpGroupHeading ?? "")) option.hideHelp();
  }
}

/** Whether an option of a command is a setting, rather than the command's own. */
export function isSetting(option: Option): boolean {
  return option.helpGroupHeading === COMMON_GROUP || SETTING_GROUPS.has(option.helpGroupHeading ?? "");
}

function optionOf(row: Row, flag: string, text?: string): Option {
  const names = row.short === undefined ? flag : `${row.short}, ${flag}`;
  const word = valueWord(row);
  const spec = row.type === "boolean" ? names : `${names} <${word}>`;
  const words = word === "word" ? ` One of ${usableValues(row).join(", ")}.` : "";
  const isStated = row.defaultValue !== undefined && row.type !== "boolean";
  const fallback = isStated ? ` (default: ${String(row.defaultValue)})` : "";
  const option = new Option(spec, (text ?? row.description) + words + fallback).helpGroup(groupOf(row));
  if (row.path !== MODEL_ID && row.path !== MODEL_ALIAS) return option;
  return option.argParser<readonly string[] | undefined>((path, earlier) => [...(earlier ?? []), path]);
}

function groupOf(row: Row): string {
  const section = sectionAt(row.section);
  return section === undefined ? "General:" : `${header(section)}:`;
}

const SETTING_GROUPS: ReadonlySet<string> = new Set(ROWS.map(groupOf));

function valueWord(row: Row): string {
  if (row.path === MODEL_ID) return "model";
  if (row.isPath) return "file";
  if (row.isFolder) return "folder";
  // Long lists go into the description.
  if (row.type === "choice") return usableValues(row).length > 3 ? "word" : usableValues(row).join("|");
  return row.type === "integer" || row.type === "number" ? "n" : row.type;
}

/** `--cpu` ↔ `--no-cpu`. */
function opposite(flag: string): string {
  return flag.startsWith("--no-") ? `--${flag.slice(5)}` : `--no-${flag.slice(2)}`;
}

/** Options of the command line, without commander's defaults. */
export function flagsOf(command: Command): Flags {
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
  return withAliases(flags);
}

/** Splits values of `--alias`: pairs are aliases, the last other word is the model's own alias. */
function withAliases(flags: Readonly<Record<string, string | boolean | readonly string[]>>): Flags {
  const { [MODEL_ALIAS]: said, [ALIASES]: list, ...others } = flags;
  if (!Array.isArray(said)) return flags;
  const words: readonly string[] = said;
  const own = words.findLast((word) => !word.includes("="));
  const pairs = [...(typeof list === "string" ? [list] : []), ...words.filter((word) => word.includes("="))];
  return {
    ...others,
    ...(own === undefined ? {} : { [MODEL_ALIAS]: own }),
    ...(pairs.length === 0 ? {} : { [ALIASES]: pairs.join(",") }),
  };
}
