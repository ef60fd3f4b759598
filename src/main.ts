// Process entry: parses the command line, runs one command, maps its outcome to an exit code. The only file that exits.

import { chat } from "./commands/chat.ts";
import { type CommandHost, failed } from "./commands/host.ts";
import { runBench, runTune } from "./commands/measure.ts";
import { deleteModel, listModels, login, pull, quantizeModel } from "./commands/models.ts";
import { type AppOptions, type RunningServer, startServer } from "./app/server.ts";
import { runBackend } from "./app/backends.ts";
import { runRpcWorker } from "./app/rpc.ts";
import { runDoctor } from "./app/system.ts";
import { parseArgs } from "./cli/args.ts";
import { listeningLine, readyLines } from "./cli/banner.ts";
import { doctorTable } from "./cli/doctor-table.ts";
import { EXIT, type Invocation, type SettingsArgs } from "./cli/invocation.ts";
import { loadBar, progressBar } from "./cli/progress-bar.ts";
import { rereadAtHangup } from "./cli/hangup.ts";
import { serverCommand, type ServerCommand } from "./cli/server-commands.ts";
import { formatProblems } from "./config/problem.ts";
import { type Loaded, loadSettings, type LoadResult } from "./config/resolve.ts";
import { showSettings } from "./config/show.ts";
import type { Settings } from "./config/settings.ts";
import { unreachable } from "./core/assert.ts";
import { defined } from "./core/defined.ts";
import { StartError } from "./core/start-error.ts";
import { cacheFolder } from "./config/cache-folder.ts";
import { reasonOf } from "./core/reason.ts";
import { TIMER_MS_MAX } from "./core/limits.ts";
import { convertMain } from "./lora/convert-process.ts";
import { engineMain } from "./worker/main.ts";
import { quantizeMain } from "./worker/quantize.ts";
import { rpcDevicesMain } from "./worker/rpc-devices.ts";

function complain(line: string): void {
  console.error(line);
}

/** Spec: Events. Undefined when unset, NaN when it is not a number of milliseconds for a timer. */
function keepAliveInterval(): number | undefined {
  const text = process.env["KEEP_ALIVE_INTERVAL"];
  if (text === undefined || text === "") return undefined;
  const ms = Number(text);
  return Number.isInteger(ms) && ms > 0 && ms <= TIMER_MS_MAX ? ms : NaN;
}

function appOptions({ settings, mcp }: Loaded): AppOptions {
  const keepAliveMs = keepAliveInterval();
  return {
    settings,
    ...defined({ mcp }),
    cacheDir: cacheFolder(process.env),
    verbosity: 0,
    ...defined({ keepAliveMs }),
    log: complain,
    // A terminal shows bars, a log gets lines.
    ...(process.stderr.isTTY ? { progress: progressBar, loading: loadBar } : {}),
  };
}

/** Resolves at the first SIGINT or SIGTERM; a second one ends the process at once. */
function untilSignal(): Promise<void> {
  return new Promise((resolve) => {
    let asked = false;
    const onSignal = (): void => {
      if (asked) process.exit(EXIT.failure);
      asked = true;
      resolve();
    };
    process.on("SIGINT", onSignal);
    process.on("SIGTERM", onSignal);
  });
}

/** Serves until a signal. A failed start or load ends with one line. */
async function serve(loaded: Loaded, reread: () => LoadResult): Promise<number> {
  if (Number.isNaN(keepAliveInterval())) {
    complain(`svc: KEEP_ALIVE_INTERVAL must be a whole number of milliseconds from 1 to ${TIMER_MS_MAX}.`);
    return EXIT.usage;
  }
  let server: RunningServer;
  try {
    server = await startServer(appOptions(loaded));
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    complain(`svc: ${error.message}`);
    return EXIT.failure;
  }
  const stopped = untilSignal();
  rereadAtHangup({ reread, apply: server.apply, say: complain });
  complain(listeningLine(loaded.settings, server));
  const outcome = await Promise.race([stopped.then(() => "stopped" as const), loadedOrReason(server)]);
  if (outcome !== "stopped" && outcome !== "loaded") {
    complain(`svc: ${outcome}`);
    await server.close();
    return EXIT.failure;
  }
  if (outcome === "loaded") {
    for (const line of readyLines(loaded.settings, server)) complain(line);
    complain("Ready.");
  }
  await stopped;
  complain("Stopping: running requests may finish; press Ctrl-C again to end at once.");
  await server.close();
  return EXIT.ok;
}

async function loadedOrReason({ loaded }: RunningServer): Promise<string> {
  try {
    await loaded;
    return "loaded";
  } catch (error) {
    return reasonOf(error);
  }
}

function askServer(invocation: ServerCommand, settings: Settings): Promise<number> {
  return carriedOut(serverCommand(invocation, settings).then((text) => void process.stdout.write(text)));
}

/** Loads the settings and calls `go`, or lists every problem. */
async function withSettings(
  args: SettingsArgs,
  command: "serve" | "run" | undefined,
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
    complain(formatProblems(result.problems));
    return EXIT.usage;
  }
  for (const notice of result.notices) complain(notice);
  return go(result, read);
}

const HELPER_OPTIONS = { cacheDir: cacheFolder(process.env), verbosity: 0, log: complain };

/** The exit code of a command that reports its failures to the user. */
async function carriedOut(work: Promise<void>): Promise<number> {
  try {
    await work;
    return EXIT.ok;
  } catch (error) {
    return failed({ complain }, error);
  }
}

/** Entries of the hidden commands. */
const HELPER_PROCESSES = {
  "convert-adapter": convertMain,
  "quantize-worker": quantizeMain,
  "rpc-devices": rpcDevicesMain,
} as const;

function hostOf(loaded: Loaded): CommandHost {
  return { options: appOptions(loaded), environment: process.env, complain, untilSignal };
}

async function execute(invocation: Invocation): Promise<number> {
  switch (invocation.command) {
    case "serve":
    case "run":
    case "from-config": {
      const command = invocation.command === "from-config" ? undefined : invocation.command;
      const question = invocation.command === "serve" ? { files: [], isLocal: false } : invocation;
      return withSettings(invocation, command, (loaded, reread) =>
        loaded.settings.command === "run" ? chat(loaded, question, hostOf(loaded)) : serve(loaded, reread),
      );
    }
    case "config-check":
      return withSettings(invocation, undefined, () => {
        console.log("The configuration is valid.");
        return EXIT.ok;
      });
    case "config-show":
      return withSettings(invocation, undefined, (loaded) => {
        process.stdout.write(showSettings(loaded));
        return EXIT.ok;
      });
    case "doctor":
      return withSettings(invocation, undefined, async (loaded) => {
        const report = await runDoctor(appOptions(loaded));
        console.log(invocation.json ? JSON.stringify(report, null, 2) : doctorTable(report));
        return report.ok ? EXIT.ok : EXIT.failure;
      });
    case "bench":
      return withSettings(invocation, undefined, (loaded) => runBench(loaded, invocation, hostOf(loaded)));
    case "tune":
      return withSettings(invocation, undefined, (loaded) => runTune(loaded, invocation, hostOf(loaded)));
    case "pull":
      return withSettings(invocation, undefined, (loaded) => pull(loaded, hostOf(loaded)));
    case "cache-list":
      return withSettings(invocation, undefined, (loaded) => listModels(loaded, hostOf(loaded)));
    case "cache-delete":
      return withSettings(invocation, undefined, (loaded) =>
        deleteModel(loaded, invocation.id, hostOf(loaded)),
      );
    case "quantize":
      return withSettings(invocation, undefined, (loaded) =>
        quantizeModel(loaded, invocation, hostOf(loaded)),
      );
    case "ps":
    case "list":
    case "show":
    case "stop":
      return withSettings(invocation, undefined, ({ settings }) => askServer(invocation, settings));
    case "backend":
      return carriedOut(runBackend(invocation, HELPER_OPTIONS));
    case "rpc-worker":
      return carriedOut(runRpcWorker(invocation, { ...HELPER_OPTIONS, stopped: untilSignal() }));
    case "login":
      return withSettings({ flags: {} }, undefined, (loaded) => login(hostOf(loaded)));
    case "engine":
      return engineMain();
    case "convert-adapter":
    case "quantize-worker":
    case "rpc-devices":
      return HELPER_PROCESSES[invocation.command](invocation.args);
    case "print":
      process.stdout.write(invocation.text);
      return EXIT.ok;
    case "usage-error":
      complain(invocation.text);
      return EXIT.usage;
    default:
      return unreachable(invocation);
  }
}

/** A closed pipe, as of `head`, is not a failure. */
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(EXIT.ok);
});

void execute(parseArgs(process.argv.slice(2))).then((code) => process.exit(code));
