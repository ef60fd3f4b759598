// Turns the words of a command line into one value that says what to do. Does nothing itself: no output, no exit, no
// file. Setting flags come from the settings table; commander does the parsing and writes the help.

import { Argument, Command, CommanderError, InvalidArgumentError, Option } from "commander";
import type { Flags } from "../config/sources.ts";
import { TUNE_PROFILES, type TuneProfile } from "../core/measure.ts";
import { VERSION } from "../core/version.ts";
import { completionScript, SHELLS, type Shell } from "./completions.ts";
import { flagsOf, FOOTER, MODEL_ID, withSettings } from "./setting-flags.ts";

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

/** What a chat begins with. */
export interface ChatArgs {
  /** One-shot: the prompt to answer. */
  readonly input?: string;
  /** Paths of files that go with the first question. */
  readonly files: readonly string[];
}

/** What is measured; each combination of the lists is. */
export interface BenchArgs {
  readonly promptLens: readonly number[];
  readonly depths: readonly number[];
  readonly genLens: readonly number[];
  readonly concurrencies: readonly number[];
  readonly repetitions: number;
  readonly json: boolean;
}

/** What to do. */
export type Invocation =
  | ({ readonly command: "serve" } & SettingsArgs)
  | ({ readonly command: "run" } & ChatArgs & SettingsArgs)
  | ({ readonly command: "from-config" } & ChatArgs & SettingsArgs)
  | ({ readonly command: "config-check" } & SettingsArgs)
  | ({ readonly command: "config-show" } & SettingsArgs)
  | ({ readonly command: "doctor"; readonly json: boolean } & SettingsArgs)
  | ({ readonly command: "bench" } & BenchArgs & SettingsArgs)
  | ({ readonly command: "tune"; readonly profile: TuneProfile; readonly json: boolean } & SettingsArgs)
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
  addMeasuringCommands(program, (chosen) => (invocation = chosen));
  addCompletions(program, (chosen) => (invocation = chosen));
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

  const serve = program.command("serve").description("Start the HTTP server.").argument("[config]", fileText);
  withSettings(serve).action((file: string | undefined) =>
    choose({ command: "serve", ...configFile(file), flags: flagsOf(serve) }),
  );

  const run = program
    .command("run")
    .description("Chat with a model in the terminal, or answer one prompt.")
    .argument("[words...]", `${fileText}, if it ends in .toml; else the prompt to answer`);
  withSettings(withChatOptions(run)).action((words: readonly string[], chat: ChatOptions) => {
    const file = words[0]?.endsWith(".toml") === true ? words[0] : undefined;
    const prompt = words.slice(file === undefined ? 0 : 1);
    choose(chatInvocation({ command: "run", ...configFile(file), flags: flagsOf(run) }, chat, prompt));
  });

  const from = program
    .command("from-config")
    .description("Do what the file's `command` says (serve unless it says).");
  from.requiredOption("-f, --file <file>", fileText);
  withSettings(withChatOptions(from)).action((chat: ChatOptions & { file: string }) =>
    choose(chatInvocation({ command: "from-config", configFile: chat.file, flags: flagsOf(from) }, chat, [])),
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

/** How a chat is begun; the same for every command that may chat. */
interface ChatOptions {
  readonly input?: string;
  readonly attach?: readonly string[];
  readonly image?: string;
  readonly audio?: string;
  readonly video?: string;
}

function withChatOptions(command: Command): Command {
  const unseen = (kind: string): string => `attach ${kind}; refused until a model can take it`;
  return command
    .option("-i, --input <text>", "answer this prompt and end")
    .option("--attach <path>", "attach a file to the first question; may be repeated", gather)
    .option("--image <path>", unseen("an image"))
    .option("--audio <path>", unseen("a recording"))
    .option("--video <path>", unseen("a film"));
}

function gather(value: string, earlier: readonly string[] | undefined): readonly string[] {
  return [...(earlier ?? []), value];
}

function chatInvocation(
  invocation: { readonly command: "run" | "from-config" } & SettingsArgs,
  { input, attach = [], image, audio, video }: ChatOptions,
  words: readonly string[],
): Invocation {
  const given = [input, ...(words.length === 0 ? [] : [words.join(" ")])].filter(
    (text) => text !== undefined,
  );
  if (given.length > 1) return usageError("the prompt is there twice: as -i and as words. Leave out one.");
  const unseen = Object.entries({ image, audio, video }).find(([, path]) => path !== undefined);
  if (unseen !== undefined)
    return usageError(`--${unseen[0]}: the models of this version read text only; leave it out.`);
  const [prompt] = given;
  return { ...invocation, files: attach, ...(prompt === undefined ? {} : { input: prompt }) };
}

function usageError(what: string): Invocation {
  return { command: "usage-error", text: `svc: ${what}` };
}

/** Commands that tell how fast a model is on this machine. */
function addMeasuringCommands(program: Command, choose: (invocation: Invocation) => void): void {
  const fileText = "TOML file with settings";
  const list = (min: number) => (text: string) => text.split(",").map((word) => wholeNumber(word, min));
  const bench = program
    .command("bench")
    .description("Measure how fast a model reads prompts and writes answers.")
    .argument("[config]", fileText)
    .option("--prompt-len <list>", "tokens of a prompt (0: do not measure)", list(0), [512])
    .option("--gen-len <list>", "tokens of an answer (0: do not measure)", list(0), [128])
    .option("--depth <list>", "tokens that are in the cache before", list(0), [0])
    .option("--concurrency <list>", "sequences at the same time", list(1), [1])
    .option("--repetitions <n>", "runs of each measurement", (text) => wholeNumber(text, 1), 5)
    .option("--json", "print JSON", false);
  withSettings(bench).action((file: string | undefined, chosen: BenchOptions) =>
    choose({
      command: "bench",
      ...configFile(file),
      promptLens: chosen.promptLen,
      genLens: chosen.genLen,
      depths: chosen.depth,
      concurrencies: chosen.concurrency,
      repetitions: chosen.repetitions,
      json: chosen.json,
      flags: flagsOf(bench),
    }),
  );

  const tune = program
    .command("tune")
    .description("Measure a few settings with a model and recommend the best.")
    .argument("[config]", fileText)
    .addOption(
      new Option("--profile <word>", "quality: each answer fast; fast: most tokens altogether")
        .choices(TUNE_PROFILES)
        .default("balanced"),
    )
    .option("--json", "print JSON", false);
  withSettings(tune).action((file: string | undefined, { profile, json }: TuneOptions) =>
    choose({ command: "tune", ...configFile(file), profile, json, flags: flagsOf(tune) }),
  );
}

interface BenchOptions {
  readonly promptLen: readonly number[];
  readonly genLen: readonly number[];
  readonly depth: readonly number[];
  readonly concurrency: readonly number[];
  readonly repetitions: number;
  readonly json: boolean;
}

interface TuneOptions {
  readonly profile: TuneProfile;
  readonly json: boolean;
}

/** Bound of what can be asked for: a sequence that long does not exist. */
const NUMBER_MAX = 1_000_000;

function wholeNumber(text: string, min: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text.trim()) && value >= min && value <= NUMBER_MAX) return value;
  throw new InvalidArgumentError(`must be whole numbers from ${min} to ${NUMBER_MAX}.`);
}

function addCompletions(program: Command, choose: (invocation: Invocation) => void): void {
  program
    .command("completions")
    .description("Print a script that completes svc's commands and flags.")
    .addArgument(new Argument("<shell>", "the shell to print it for").choices(SHELLS))
    .action((shell: Shell) => choose({ command: "print", text: completionScript(program, shell) }));
}
