// Runs one command of the command line.

import { runBackend } from "../app/backends.ts";
import { machineFacts } from "../app/machine.ts";
import { runRpcWorker } from "../app/rpc.ts";
import type { AppOptions } from "../app/server.ts";
import { EXIT, type Invocation, type SettingsArgs } from "../cli/invocation.ts";
import { loadBar, progressBar } from "../cli/progress-bar.ts";
import { type ServerCommand, serverCommand } from "../cli/server-commands.ts";
import { cacheFolder } from "../config/cache-folder.ts";
import { formatProblems, type Problem } from "../config/problem.ts";
import { type Loaded, loadSettings, type LoadResult } from "../config/resolve.ts";
import { showSettings } from "../config/show.ts";
import { unreachable } from "../core/assert.ts";
import { defined } from "../core/defined.ts";
import { TIMER_MS_MAX } from "../core/limits.ts";
import { convertMain } from "../lora/convert-process.ts";
import { engineMain } from "../worker/main.ts";
import { machineSpeedMain } from "../worker/machine-speed.ts";
import { quantizeMain } from "../worker/quantize.ts";
import { rpcDevicesMain } from "../worker/rpc-devices.ts";
import { chat, namedByServer } from "./chat.ts";
import { convertModel } from "./convert.ts";
import { doctor } from "./doctor.ts";
import { estimate } from "./estimate.ts";
import { type CommandHost, failed, showsInPlace } from "./host.ts";
import { inspect } from "./inspect.ts";
import { runKeys, runUsage } from "./keys.ts";
import { launch } from "./launch.ts";
import { mcpSignIn } from "./mcp.ts";
import { runBench, runTune } from "./measure.ts";
import { login, pull, quantizeModel, runCache } from "./models.ts";
import { replay } from "./replay.ts";
import { serve } from "./serve.ts";
import { update } from "./update.ts";

/** The process that runs a command. */
export type Host = Omit<CommandHost, "options">;

type HelperProcess = "engine" | "convert-adapter" | "quantize-worker" | "machine-speed" | "rpc-devices";

/** Entries of the hidden commands. */
const HELPER_PROCESSES: Readonly<
  Record<HelperProcess, (args: readonly string[]) => Promise<number> | number>
> = {
  engine: engineMain,
  "convert-adapter": convertMain,
  "quantize-worker": quantizeMain,
  "machine-speed": machineSpeedMain,
  "rpc-devices": rpcDevicesMain,
};

/** Runs one command. Resolves to its exit code. */
export async function execute(invocation: Invocation, host: Host): Promise<number> {
  switch (invocation.command) {
    case "serve":
    case "run":
    case "from-config":
      return start(invocation, host);
    case "config-check":
      return withSettings(invocation, { host }, configIsValid);
    case "config-show":
      return withSettings(invocation, { host }, showConfig);
    case "doctor":
      return withSettings(invocation, { host }, (loaded) => doctor(invocation, hostOf(loaded, host)));
    case "bench":
    case "tune":
      return hosted(invocation, host, measure);
    case "pull":
      return hosted(invocation, host, pull);
    case "estimate":
      return hosted(invocation, host, estimate);
    case "search":
    case "cache-list":
    case "cache-purge":
    case "cache-delete":
      return hosted(invocation, host, runCache);
    case "update":
      return hosted(invocation, host, update);
    case "convert":
    case "quantize":
      return hosted(invocation, host, makeModel);
    case "ps":
    case "list":
    case "show":
    case "stop":
    case "pin":
    case "replay":
    case "launch":
    case "verify":
      return withSettings(invocation, { host }, (loaded) => aboutModels(loaded, invocation, host));
    case "usage":
      return withSettings(invocation, { host }, (loaded) => runUsage(loaded, invocation, host));
    case "keys":
      return withSettings(invocation, { host }, (loaded) => runKeys(loaded, invocation, host));
    case "backend":
      return carriedOut(runBackend(invocation, helperOptions(host)), host);
    case "rpc-worker":
      return rpcWorker(invocation, host);
    case "login":
    case "mcp":
      return signIn(invocation, host);
    case "engine":
    case "convert-adapter":
    case "quantize-worker":
    case "machine-speed":
    case "rpc-devices":
      return HELPER_PROCESSES[invocation.command](invocation.args);
    case "print":
      process.stdout.write(invocation.text);
      return EXIT.ok;
    case "usage-error":
      host.complain(invocation.text);
      return EXIT.usage;
    default:
      return unreachable(invocation);
  }
}

type Start = Extract<Invocation, { readonly command: "serve" | "run" | "from-config" }>;

/** A server or a chat, as the command or the configuration says. */
function start(invocation: Start, host: Host): Promise<number> {
  const command = invocation.command === "from-config" ? undefined : invocation.command;
  const question = invocation.command === "serve" ? { files: [], isLocal: false } : invocation;
  const otherwise = invocation.command === "run" ? namedByServer(invocation) : undefined;
  return withSettings(invocation, { host, command, otherwise }, (loaded, reread) =>
    loaded.settings.command === "run"
      ? chat(loaded, question, hostOf(loaded, host))
      : serve(loaded, reread, hostOf(loaded, host)),
  );
}

function configIsValid(): number {
  console.log("The configuration is valid.");
  return EXIT.ok;
}

function showConfig(loaded: Loaded): number {
  process.stdout.write(showSettings(loaded));
  return EXIT.ok;
}

interface Loading {
  readonly host: Host;
  readonly command?: "serve" | "run" | undefined;
  /** Settings in place of those with these problems; undefined: there are none. */
  readonly otherwise?: ((problems: readonly Problem[]) => Promise<Loaded | undefined>) | undefined;
}

/** Runs a command that needs settings and the options of models. */
function hosted<I extends SettingsArgs>(
  invocation: I,
  host: Host,
  run: (loaded: Loaded, invocation: I, host: CommandHost) => Promise<number> | number,
): Promise<number> {
  return withSettings(invocation, { host }, (loaded) => run(loaded, invocation, hostOf(loaded, host)));
}

/** Loads the settings and calls `go`, or lists every problem. */
async function withSettings(
  args: SettingsArgs,
  { host, command, otherwise }: Loading,
  go: (loaded: Loaded, reread: () => LoadResult) => Promise<number> | number,
): Promise<number> {
  const read = (): LoadResult =>
    loadSettings({
      ...defined({ command, configFile: args.configFile }),
      flags: args.flags,
      requireModel: true,
    });
  const result = read();
  if (!result.ok) {
    const others = await otherwise?.(result.problems);
    if (others !== undefined) return go(others, read);
    host.complain(formatProblems(result.problems));
    return EXIT.usage;
  }
  for (const notice of result.notices) host.complain(notice);
  return go(result, read);
}

function signIn(invocation: Extract<Invocation, { command: "login" | "mcp" }>, host: Host): Promise<number> {
  return invocation.command === "login"
    ? withSettings({ flags: {} }, { host }, (loaded) => login(hostOf(loaded, host)))
    : withSettings(invocation, { host }, (loaded) => mcpSignIn(loaded, invocation, host));
}

function rpcWorker(invocation: Extract<Invocation, { command: "rpc-worker" }>, host: Host): Promise<number> {
  return carriedOut(runRpcWorker(invocation, { ...helperOptions(host), stopped: host.untilSignal() }), host);
}

function measure(
  loaded: Loaded,
  invocation: Extract<Invocation, { command: "bench" | "tune" }>,
  host: CommandHost,
): Promise<number> {
  return invocation.command === "bench"
    ? runBench(loaded, invocation, host)
    : runTune(loaded, invocation, host);
}

function makeModel(
  loaded: Loaded,
  invocation: Extract<Invocation, { command: "convert" | "quantize" }>,
  host: CommandHost,
): Promise<number> {
  return invocation.command === "convert"
    ? convertModel(loaded, invocation, host)
    : quantizeModel(loaded, invocation, host);
}

function aboutModels(
  loaded: Loaded,
  invocation: Extract<Invocation, { command: ServerCommand["command"] | "verify" | "replay" | "launch" }>,
  host: Host,
): Promise<number> {
  if (invocation.command === "show" || invocation.command === "verify")
    return inspect(loaded, invocation, hostOf(loaded, host));
  if (invocation.command === "replay") return carriedOut(replay(invocation, loaded.settings), host);
  if (invocation.command === "launch") return carriedOut(launch(invocation, loaded.settings, host), host);
  return carriedOut(
    serverCommand(invocation, loaded.settings).then((text) => void process.stdout.write(text)),
    host,
  );
}

/** The exit code of a command that reports its failures to the user. */
async function carriedOut(work: Promise<number | void>, host: Host): Promise<number> {
  try {
    return (await work) ?? EXIT.ok;
  } catch (error) {
    return failed(host, error);
  }
}

function hostOf(loaded: Loaded, host: Host): CommandHost {
  return { ...host, options: appOptions(loaded, host) };
}

function helperOptions({ environment, complain }: Host) {
  return { cacheDir: cacheFolder(environment), verbosity: 0, log: complain };
}

function appOptions({ settings, mcp, origins }: Loaded, host: Host): AppOptions {
  return {
    settings,
    isToyUnasked: origins.get("models[0].model_id")?.type === "default",
    ...helperOptions(host),
    machine: machineFacts(helperOptions(host)),
    ...defined({ mcp, keepAliveMs: keepAliveInterval(host) }),
    // A terminal shows bars, a log gets lines.
    ...(showsInPlace(host.environment) ? { progress: progressBar, loading: loadBar } : {}),
  };
}

/** Spec: Events. Undefined when unset, NaN when it is not a number of milliseconds for a timer. */
function keepAliveInterval({ environment }: Host): number | undefined {
  const text = environment["KEEP_ALIVE_INTERVAL"];
  if (text === undefined || text === "") return undefined;
  const ms = Number(text);
  return Number.isInteger(ms) && ms > 0 && ms <= TIMER_MS_MAX ? ms : NaN;
}
