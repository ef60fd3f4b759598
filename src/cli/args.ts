// Parses a command line into an Invocation. No side effects: no output, no exit, no files. Flags of settings come from the
// settings table; commander parses and writes the help.

import { Argument, Command, CommanderError } from "commander";
import { defined } from "../core/defined.ts";
import { reasonOf } from "../core/reason.ts";
import { catalogued } from "../core/catalogue.ts";
import { VERSION } from "../core/version.ts";
import { addBackendCommands } from "./backend-args.ts";
import { completionScript, SHELLS, type Shell } from "./completions.ts";
import { type Choose, configFile, type Invocation, type SettingsArgs } from "./invocation.ts";
import { addKeysCommands } from "./keys-args.ts";
import { manualPage } from "./manual.ts";
import { addMcpCommands } from "./mcp-args.ts";
import { addMeasuringCommands } from "./measuring-args.ts";
import { addRpcWorkerCommand } from "./rpc-worker-args.ts";
import { type ChoiceFlags, choicesOf, THINK_LEVELS } from "./chat/choices.ts";
import { hintFor } from "./hints.ts";
import { addLaunchCommand } from "./launch-args.ts";
import { addEstimateCommand, addPullCommand, addSearchCommand, addShowCommand } from "./hub-args.ts";
import { SERVER_FLAGS } from "./server-client.ts";
import { addUpdateCommand } from "./update-args.ts";
import { addConvertCommand, addQuantizeCommand } from "./weight-args.ts";
import { addUsageCommand } from "./usage-table.ts";
import {
  CHATTING,
  EXAMPLES,
  flagsOf,
  FOOTER,
  hideRareSettings,
  MODEL_ID,
  SERVING,
  withSettings,
} from "./setting-flags.ts";

const CACHE_FLAGS = ["models[].device.hf_cache"];
const PURGE_FLAGS = ["runtime.cache_disk"];
/** Maximum width of help, and its width in pipes. */
const HELP_COLUMNS = 100;

/** Parses the arguments after the executable's name. */
export function parseArgs(argv: readonly string[]): Invocation {
  if (
    argv[0] === "engine" ||
    argv[0] === "convert-adapter" ||
    argv[0] === "quantize-worker" ||
    argv[0] === "machine-speed" ||
    argv[0] === "rpc-devices"
  )
    return { command: argv[0], args: argv.slice(1) };
  let printed = "";
  let complaint = "";
  let invocation: Invocation | undefined;
  const program = new Command("svc")
    .description("Serves AI models on this machine over HTTP, or chats with one in the terminal.")
    .version(`svc ${VERSION}`, "-V, --version", "print the version")
    .addHelpText("after", `${EXAMPLES}\n${FOOTER}`)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => (printed += text),
      writeErr: (text) => (complaint += text),
      getOutHelpWidth: () => Math.min(process.stdout.columns ?? HELP_COLUMNS, HELP_COLUMNS),
    });
  program.commandsGroup("Start:");
  addCommands(program, (chosen) => (invocation = chosen));
  program.commandsGroup("Models:");
  addHubCommands(program, (chosen) => (invocation = chosen));
  program.commandsGroup("Running server:");
  addLaunchCommand(program, (chosen) => (invocation = chosen));
  addServerCommands(program, (chosen) => (invocation = chosen));
  addUsageCommand(program, (chosen) => (invocation = chosen));
  addKeysCommands(program, (chosen) => (invocation = chosen));
  program.commandsGroup("Machine:");
  addMeasuringCommands(program, (chosen) => (invocation = chosen));
  addBackendCommands(program, (chosen) => (invocation = chosen));
  addRpcWorkerCommand(program, (chosen) => (invocation = chosen));
  addMcpCommands(program, (chosen) => (invocation = chosen));
  addGenerated(program, (chosen) => (invocation = chosen));
  const wantsAll = argv.includes("--help-all");
  if (!wantsAll && (argv.includes("--help") || argv.includes("-h") || argv[0] === "help"))
    hideRareSettings(program);
  const words = wantsAll ? argv.map((word) => (word === "--help-all" ? "--help" : word)) : argv;
  try {
    program.parse(["version", "-v"].includes(words[0] ?? "") ? ["--version"] : words, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return { command: "print", text: printed };
    const hint = hintFor(error.message, argv, program);
    return {
      command: "usage-error",
      text: `${complaint.trimEnd().replace(/^error:/, "svc:")}\n${hint}`,
    };
  }
  return invocation ?? { command: "usage-error", text: program.helpInformation() };
}

interface DoctorFlags {
  readonly json: boolean;
  readonly fix: boolean;
  readonly yes: boolean;
}

function addCommands(program: Command, choose: Choose): void {
  const fileText = "TOML file with settings";

  const serve = program.command("serve").description("Start the HTTP server.").argument("[config]", fileText);
  withSettings(serve, undefined, SERVING).action((file: string | undefined) =>
    choose({ command: "serve", ...configFile(file), flags: flagsOf(serve) }),
  );

  const run = program
    .command("run")
    .description("Chat with a model in the terminal, or answer one prompt.")
    .argument(
      "[words...]",
      `${fileText}, if it ends in .toml, or a name of svc search; then the prompt to answer`,
    );
  withSettings(withChatOptions(run), undefined, CHATTING).action(
    (words: readonly string[], chat: ChatOptions) => {
      const [first = ""] = words;
      const file = first.endsWith(".toml") ? first : undefined;
      const given = flagsOf(run);
      const named = catalogued(first) === undefined || given[MODEL_ID] !== undefined ? undefined : first;
      const prompt = words.slice(file === undefined && named === undefined ? 0 : 1);
      const flags = named === undefined ? given : { ...given, [MODEL_ID]: [named] };
      choose(chatInvocation({ command: "run", ...configFile(file), flags }, chat, prompt));
    },
  );

  const from = program.command("from-config").description("Run the `command` of the file (default: serve).");
  from.requiredOption("-f, --file <file>", fileText);
  withSettings(withChatOptions(from)).action((chat: ChatOptions & { file: string }) =>
    choose(chatInvocation({ command: "from-config", configFile: chat.file, flags: flagsOf(from) }, chat, [])),
  );

  const doctor = program
    .command("doctor")
    .description("Check processor, memory, disk, models and port.")
    .argument("[config]", fileText);
  doctor.option("--json", "print the report as JSON", false);
  doctor.option("--fix", "offer to install what is missing for a graphics card", false);
  doctor.option("--yes", "with --fix: install without asking", false);
  withSettings(doctor).action((file: string | undefined, { json, fix, yes }: DoctorFlags) =>
    choose({
      command: "doctor",
      ...configFile(file),
      json,
      ...(fix ? { fix: yes ? ("unasked" as const) : ("ask" as const) } : {}),
      flags: flagsOf(doctor),
    }),
  );

  const config = program.command("config").description("Inspect a configuration without starting anything.");
  const check = config.command("check").description("List every problem.").argument("[config]", fileText);
  withSettings(check).action((file: string | undefined) =>
    choose({ command: "config-check", ...configFile(file), flags: flagsOf(check) }),
  );
  const show = config
    .command("show")
    .description("Print all settings and where each comes from.")
    .argument("[config]", fileText);
  withSettings(show).action((file: string | undefined) =>
    choose({ command: "config-show", ...configFile(file), flags: flagsOf(show) }),
  );
}

/** Commands that talk to a running server. */
function addServerCommands(program: Command, choose: Choose): void {
  const add = (words: string, description: string): Command =>
    withSettings(program.command(words).description(description), SERVER_FLAGS);
  const jsonText = "print JSON";
  const ps = add("ps", "List the loaded models of a running server.").option("--json", jsonText, false);
  ps.action(({ json }: JsonOption) => choose({ command: "ps", json, flags: flagsOf(ps) }));
  const list = add("list", "List all models of a running server.")
    .alias("ls")
    .option("--json", jsonText, false);
  list.action(({ json }: JsonOption) => choose({ command: "list", json, flags: flagsOf(list) }));
  addShowCommand(program, choose);
  const replay = add("replay <file>", "Send recorded requests again and compare the answers' fingerprints.");
  replay.option("--record <file>", "write the requests with the new answers to a file");
  replay.action((file: string, { record: output }: { readonly record?: string }) =>
    choose({ command: "replay", file, ...defined({ output }), flags: flagsOf(replay) }),
  );
  const stop = add("stop <model>", "Unload a model of a running server.");
  stop.action((model: string) => choose({ command: "stop", model, flags: flagsOf(stop) }));
  const pin = add("pin <model>", "Keep a model of a running server loaded, also when idle.");
  pin.action((model: string) => choose({ command: "pin", isPinned: true, model, flags: flagsOf(pin) }));
  const unpin = add("unpin <model>", "Let a pinned model be unloaded again.");
  unpin.action((model: string) => choose({ command: "pin", isPinned: false, model, flags: flagsOf(unpin) }));
}

interface JsonOption {
  readonly json: boolean;
}

/** Commands about models that are not running. */
function addHubCommands(program: Command, choose: Choose): void {
  const idText = "owner/name, owner/name:Q4_K_M, owner/name:file.gguf, each with @revision";
  addSearchCommand(program, choose);
  addEstimateCommand(program, choose);
  addPullCommand(program, idText, choose);

  const cache = program
    .command("cache")
    .description("List and delete downloaded models, and copies of the KV cache.");
  const list = cache.command("list").description("List downloaded GGUF files.");
  withSettings(list, CACHE_FLAGS).action(() => choose({ command: "cache-list", flags: flagsOf(list) }));
  const remove = cache
    .command("delete")
    .description("Delete a downloaded repository, or one revision or model of it.")
    .argument("<model>", idText);
  withSettings(remove, CACHE_FLAGS).action((id: string) =>
    choose({ command: "cache-delete", id, flags: flagsOf(remove) }),
  );

  const purge = cache
    .command("purge")
    .description("Delete the copies of the KV cache that --cache-disk keeps: they hold prompts and answers.");
  withSettings(purge, PURGE_FLAGS).action(() => choose({ command: "cache-purge", flags: flagsOf(purge) }));

  const rm = program.command("rm").description("The same as cache delete.").argument("<model>", idText);
  withSettings(rm, CACHE_FLAGS).action((id: string) =>
    choose({ command: "cache-delete", id, flags: flagsOf(rm) }),
  );

  addQuantizeCommand(program, idText, choose);
  addConvertCommand(program, choose);
  addUpdateCommand(program, choose);

  program
    .command("login")
    .description("Store a hub token, read from the standard input.")
    .action(() => choose({ command: "login" }));
}

/** Options of every command that can chat. */
interface ChatOptions extends ChoiceFlags {
  readonly input?: string;
  readonly attach?: readonly string[];
  readonly image?: readonly string[];
  readonly audio?: readonly string[];
  readonly video?: readonly string[];
  readonly local?: boolean;
}

/** Of flags, with the names of the command line. */
const CHOICE_FLAGS: readonly (readonly [flag: string, help: string])[] = [
  ["--temperature <n>", "randomness of the answers, 0 to 2"],
  ["--top-k <n>", "sample from the n most likely tokens; 0: from all"],
  ["--top-p <n>", "sample from the most likely tokens whose probabilities add up to n; 1: from all"],
  ["--max-tokens <n>", "most tokens of an answer"],
  ["--system <text>", "the system prompt"],
  ["--think <level>", `on, off, ${THINK_LEVELS.join(", ")}`],
];

function withChatOptions(command: Command): Command {
  for (const [flag, help] of CHOICE_FLAGS) command.option(flag, help);
  return command
    .option("-i, --input <text>", "answer this prompt and end")
    .option("--attach <path>", "attach a file to the first question; may be repeated", gather)
    .option("--image <path>", "attach an image to the first question; may be repeated", gather)
    .option("--audio <path>", "attach audio to the first question; may be repeated", gather)
    .option("--video <path>", "attach a video to the first question; may be repeated", gather)
    .option("--local", "load the model here, even if a server that runs has it");
}

function gather(value: string, earlier: readonly string[] | undefined): readonly string[] {
  return [...(earlier ?? []), value];
}

function chatInvocation(
  invocation: { readonly command: "run" | "from-config" } & SettingsArgs,
  { input, attach = [], image = [], audio = [], video = [], local = false, ...flags }: ChatOptions,
  words: readonly string[],
): Invocation {
  const given = [input, ...(words.length === 0 ? [] : [words.join(" ")])].filter(
    (text) => text !== undefined,
  );
  if (given.length > 1) return usageError("the prompt is given twice, as -i and as words. Leave out one.");
  const files = [
    ...attach.map((path) => ({ kind: "file", path }) as const),
    ...image.map((path) => ({ kind: "image", path }) as const),
    ...audio.map((path) => ({ kind: "audio", path }) as const),
    ...video.map((path) => ({ kind: "video", path }) as const),
  ];
  const [prompt] = given;
  const isLocal = local ? true : undefined;
  try {
    const chosen = choicesOf(flags);
    const choices = Object.keys(chosen).length === 0 ? undefined : chosen;
    return { ...invocation, files, ...defined({ input: prompt, isLocal, choices }) };
  } catch (error) {
    return usageError(reasonOf(error));
  }
}

function usageError(what: string): Invocation {
  return { command: "usage-error", text: `svc: ${what}` };
}

/** Commands that print documents generated from the command tree. */
function addGenerated(program: Command, choose: Choose): void {
  program
    .command("completions")
    .description("Print a completion script for bash, zsh or fish.")
    .addArgument(new Argument("<shell>", "the shell to print it for").choices(SHELLS))
    .action((shell: Shell) => choose({ command: "print", text: completionScript(program, shell) }));
  program
    .command("man")
    .description("Print the manual page; read it with: svc man | man -l -")
    .action(() => choose({ command: "print", text: manualPage(program) }));
}
