// Process entry: parses the command line, runs one command, maps its outcome to an exit code. The only file that exits.

import { existsSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";
import { availableParallelism } from "node:os";
import { type AppOptions, type RunningServer, startServer } from "./app/server.ts";
import { runBackend } from "./app/backends.ts";
import { openChat } from "./app/chat.ts";
import type { BackendCommand } from "./backends/command.ts";
import { type BenchedModel, benchModel, type MeasureOptions, tuneModel } from "./app/measure.ts";
import { modelFile } from "./app/model-files.ts";
import { runDoctor } from "./app/system.ts";
import { parseArgs } from "./cli/args.ts";
import { listeningLine, readyLines } from "./cli/banner.ts";
import { cacheTable, deletedText } from "./cli/cache-table.ts";
import { doctorTable } from "./cli/doctor-table.ts";
import { benchReport, benchTable, tuneTable } from "./cli/measure-table.ts";
import { type BenchArgs, type ChatArgs, EXIT, type Invocation, type SettingsArgs } from "./cli/invocation.ts";
import { loadBar, progressBar } from "./cli/progress-bar.ts";
import { rereadAtHangup } from "./cli/hangup.ts";
import { serverCommand, type ServerCommand } from "./cli/server-commands.ts";
import { readSecret } from "./cli/read-secret.ts";
import { terminalChat, thinkingOf } from "./cli/terminal-chat.ts";
import { formatProblems } from "./config/problem.ts";
import { type Loaded, loadSettings, type LoadResult } from "./config/resolve.ts";
import { showSettings } from "./config/show.ts";
import { modelName } from "./config/model-name.ts";
import { BUILTIN_MODEL_ID } from "./config/model-settings.ts";
import type { Settings } from "./config/settings.ts";
import { unreachable } from "./core/assert.ts";
import { defined } from "./core/defined.ts";
import type { TuneProfile } from "./core/measure.ts";
import { FILE_TYPE_NAMES, fileTypeOf, needsImportance } from "./core/quantization.ts";
import { StartError } from "./core/start-error.ts";
import { cacheFolder } from "./config/cache-folder.ts";
import { parseHubId } from "./core/hub-id.ts";
import { TIMER_MS_MAX } from "./core/limits.ts";
import { reasonOf } from "./core/reason.ts";
import { deleteCached, listCache } from "./hub/cache.ts";
import { type HubPlace, hubPlace } from "./hub/place.ts";
import { storeToken } from "./hub/token.ts";
import { convertMain } from "./lora/convert-process.ts";
import { quantize } from "./quantize/run.ts";
import { engineMain } from "./worker/main.ts";
import { quantizeMain } from "./worker/quantize.ts";

function complain(line: string): void {
  console.error(line);
}

/** Spec: Events. Undefined when it is not set, NaN when it is no number of milliseconds that a timer can take. */
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

/** Serves until a signal comes. What keeps it from starting and models that don't load end it with one clear line. */
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

/** Whether looks may be used on an output. See https://no-color.org. */
function mayColor(isTty: boolean): boolean {
  return isTty && !process.env["NO_COLOR"] && process.env["TERM"] !== "dumb";
}

async function chat(loaded: Loaded, { input, files }: ChatArgs): Promise<number> {
  const options = appOptions(loaded);
  const thinking = thinkingOf(loaded.settings);
  const isTty = process.stdin.isTTY && process.stdout.isTTY;
  try {
    const partner = await openChat(options);
    try {
      return await terminalChat({
        ...partner,
        input: process.stdin,
        output: process.stdout,
        errorOutput: process.stderr,
        isTty,
        colors: mayColor(isTty),
        files,
        historyFile: join(options.cacheDir, "chat-history"),
        ...defined({ thinking, prompt: input }),
      });
    } finally {
      await partner.close();
    }
  } catch (error) {
    complain(`svc: ${reasonOf(error)}`);
    return EXIT.failure;
  }
}

/** Runs a measurement until it is done or stopped; steps are told on a terminal. */
async function measuring(work: (options: MeasureOptions) => Promise<void>): Promise<number> {
  const stop = new AbortController();
  void untilSignal().then(() => stop.abort(new Error("it was stopped")));
  const { stderr } = process;
  const onStep = (words: string): void => void (stderr.isTTY && stderr.write(`\r\u001b[K${words} …`));
  try {
    await work({ signal: stop.signal, onStep });
    return EXIT.ok;
  } catch (error) {
    complain(`svc: ${reasonOf(error)}`);
    return EXIT.failure;
  } finally {
    if (stderr.isTTY) stderr.write("\r\u001b[K");
  }
}

function runBench(loaded: Loaded, { json, ...plan }: BenchArgs): Promise<number> {
  return measuring(async (options) => {
    const benched: BenchedModel[] = [];
    for (const model of loaded.settings.models) {
      const result = await benchModel(model, appOptions(loaded), plan, options);
      benched.push(result);
      if (!json) process.stdout.write(benchTable(result));
    }
    if (json) console.log(JSON.stringify(benchReport(benched), null, 2));
  });
}

function runTune(
  loaded: Loaded,
  { profile, json }: { readonly profile: TuneProfile; readonly json: boolean },
): Promise<number> {
  return measuring(async (options) => {
    const [model] = loaded.settings.models;
    if (model === undefined) throw new Error("there is no model");
    const report = await tuneModel(model, appOptions(loaded), profile, { ...options, isBusy: () => false });
    process.stdout.write(json ? `${JSON.stringify(report, null, 2)}\n` : tuneTable(report));
  });
}

/** Where the hub keeps things for the first model, which stands for all flags. */
function hubOf(settings: Settings): HubPlace {
  return hubPlace(process.env, settings.models[0]?.device.hf_cache);
}

/** Downloads a model, or makes sure that the newest is there. Prints its path. */
async function pull(loaded: Loaded): Promise<number> {
  const [model] = loaded.settings.models;
  if (model === undefined || isAbsolute(model.model_id) || parseHubId(model.model_id) === undefined) {
    complain(`svc: this is a model of this machine; pull takes one of the hub, like owner/name:Q4_K_M.`);
    return EXIT.usage;
  }
  const stop = new AbortController();
  void untilSignal().then(() => stop.abort(new Error("it was stopped; the next pull goes on from here")));
  try {
    console.log(await modelFile(model, appOptions(loaded), { signal: stop.signal, refresh: true }));
    return EXIT.ok;
  } catch (error) {
    complain(`svc: ${reasonOf(error)}`);
    return EXIT.failure;
  }
}

function deleteModel(settings: Settings, name: string): number {
  const id = parseHubId(name);
  const place = hubOf(settings);
  const deleted = id === undefined ? undefined : deleteCached(place.cacheDir, id);
  if (deleted === undefined || deleted.files.length === 0) {
    complain(`svc: ${place.cacheDir} has no GGUF model ${name}; \`svc cache list\` shows what there is.`);
    return EXIT.failure;
  }
  process.stdout.write(deletedText(deleted));
  return EXIT.ok;
}

/** Writes a model anew with another type of weights; an existing file is never written over. */
async function quantizeModel(
  loaded: Loaded,
  { type: word, output }: Extract<Invocation, { command: "quantize" }>,
): Promise<number> {
  const [model] = loaded.settings.models;
  const type = fileTypeOf(word);
  const importance = model?.quantization.imatrix;
  if (model === undefined || type === undefined) {
    complain(`svc: "${word}" is no type; use one of ${FILE_TYPE_NAMES.join(", ")}.`);
    return EXIT.usage;
  }
  if (needsImportance(type) && importance === undefined) {
    complain(`svc: ${type} needs an importance matrix: --imatrix FILE.`);
    return EXIT.usage;
  }
  const target = resolve(output ?? `${modelName(model)}-${type}.gguf`);
  if (existsSync(target)) {
    complain(`svc: ${target} exists already; name another file with --output, or remove it.`);
    return EXIT.usage;
  }
  const stop = new AbortController();
  void untilSignal().then(() => stop.abort(new Error("it was stopped")));
  const bar = process.stderr.isTTY ? progressBar(type, (tensors) => `${tensors} tensors`) : undefined;
  try {
    const file = await modelFile(model, appOptions(loaded), { signal: stop.signal });
    await quantize(
      {
        ...(file === BUILTIN_MODEL_ID ? {} : { input: file }),
        output: target,
        type,
        threads: availableParallelism(),
        cacheDir: cacheFolder(process.env),
        ...defined({ importance }),
      },
      (done, total) => bar?.update({ doneBytes: done, totalBytes: total }),
      stop.signal,
    );
  } catch (error) {
    complain(`svc: ${reasonOf(error)}`);
    return EXIT.failure;
  } finally {
    bar?.stop();
  }
  console.log(target);
  return EXIT.ok;
}

async function askServer(invocation: ServerCommand, settings: Settings): Promise<number> {
  try {
    process.stdout.write(await serverCommand(invocation, settings));
    return EXIT.ok;
  } catch (error) {
    complain(`svc: ${error instanceof Error ? error.message : String(error)}`);
    return EXIT.failure;
  }
}

async function login(): Promise<number> {
  const place = hubPlace(process.env);
  const question = `Token for ${place.endpoint} (it is not shown): `;
  const token = await readSecret(process.stdin, process.stderr, question);
  if (token === undefined || /\s/.test(token)) {
    complain("svc: no token was given; type it, or pipe it in.");
    return EXIT.usage;
  }
  storeToken(place, token);
  console.log(`The token is stored in ${place.tokenFile}.`);
  return EXIT.ok;
}

/** Loads the settings and goes on with them, or lists every problem. */
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

async function backend(command: BackendCommand): Promise<number> {
  try {
    await runBackend(command, { cacheDir: cacheFolder(process.env), verbosity: 0, log: complain });
    return EXIT.ok;
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    complain(`svc: ${error.message}`);
    return EXIT.failure;
  }
}

async function execute(invocation: Invocation): Promise<number> {
  switch (invocation.command) {
    case "serve":
    case "run":
    case "from-config": {
      const command = invocation.command === "from-config" ? undefined : invocation.command;
      const question = invocation.command === "serve" ? { files: [] } : invocation;
      return withSettings(invocation, command, (loaded, reread) =>
        loaded.settings.command === "run" ? chat(loaded, question) : serve(loaded, reread),
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
      return withSettings(invocation, undefined, (loaded) => runBench(loaded, invocation));
    case "tune":
      return withSettings(invocation, undefined, (loaded) => runTune(loaded, invocation));
    case "pull":
      return withSettings(invocation, undefined, pull);
    case "cache-list":
      return withSettings(invocation, undefined, ({ settings }) => {
        const { cacheDir: folder } = hubOf(settings);
        process.stdout.write(cacheTable(listCache(folder), folder));
        return EXIT.ok;
      });
    case "cache-delete":
      return withSettings(invocation, undefined, ({ settings }) => deleteModel(settings, invocation.id));
    case "quantize":
      return withSettings(invocation, undefined, (loaded) => quantizeModel(loaded, invocation));
    case "ps":
    case "list":
    case "show":
    case "stop":
      return withSettings(invocation, undefined, ({ settings }) => askServer(invocation, settings));
    case "backend":
      return backend(invocation);
    case "login":
      return login();
    case "engine":
      return engineMain();
    case "convert-adapter":
      return convertMain(invocation.args);
    case "quantize-worker":
      return quantizeMain(invocation.args);
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

/** A reader of our output that has seen enough, like `head`, is no failure. */
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(EXIT.ok);
});

void execute(parseArgs(process.argv.slice(2))).then((code) => process.exit(code));
