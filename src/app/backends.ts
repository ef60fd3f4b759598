// `svc backend`: puts the package, the store and throw-away engines together.

import { existsSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { readNvidiaCards } from "../../ffi/nvml.ts";
import { codeOf, codeProblem, cudaProblem, partFile, partProblem } from "../backends/card-code.ts";
import { BACKENDS, type BackendKind, RELEASE } from "../backends/catalog.ts";
import { isBundled } from "../backends/bundled.ts";
import { fetchPackage } from "../backends/fetch.ts";
import type { BackendCommand } from "../backends/command.ts";
import { isOwnBuild } from "../backends/own-build.ts";
import { type BackendRow, backendTable, type TrialReport, trialText } from "../backends/report.ts";
import {
  discard,
  installedBackends,
  openFolder,
  publish,
  readNamed,
  stage,
  uninstall,
} from "../backends/store.ts";
import { unreachable } from "../core/assert.ts";
import { processEnvironment } from "../config/sources.ts";
import type { NvidiaCards } from "../core/card-drivers.ts";
import { SERVER } from "../core/caller.ts";
import type { RunRequest } from "../core/run.ts";
import { DEFAULT_SAMPLING } from "../core/sampling.ts";
import { StartError } from "../core/start-error.ts";
import { removeTemporary } from "../core/temporary.ts";
import type { EngineHost } from "../core/system.ts";
import { EngineClient } from "../engine/client.ts";
import { spawnEngine } from "../engine/host.ts";
import type { BackendLibrary } from "../engine/protocol.ts";
import { fetchPart, type FetchedPart, partPlace } from "./backend-release.ts";
import { installRuntime } from "./backend-runtime.ts";
import type { ModelOptions } from "../models/model-files.ts";
import { PROBE_ENGINE } from "./system.ts";

type TrialOptions = Pick<ModelOptions, "cacheDir" | "verbosity" | "log">;

interface BackendOptions extends TrialOptions {
  /** Takes the output; stdout unless given. */
  readonly print?: (text: string) => void;
}

/** Runs one command of `svc backend`. Throws StartError for what the user can mend. */
export async function runBackend(command: BackendCommand, options: BackendOptions): Promise<void> {
  const { print = console.log } = options;
  switch (command.action) {
    case "list":
      return print(backendTable(listBackends(options.cacheDir)));
    case "test":
      return print(trialText(await testBackend(command.kind, options)));
    case "remove": {
      const { name } = command.kind;
      if (isBundled(command.kind))
        throw new StartError(
          `${name} is a part of this executable. Models stay on the CPU with cpu = true (--cpu).`,
        );
      const was = uninstall(options.cacheDir, command.kind);
      return print(was ? `${name} is removed.` : `${name} was not installed.`);
    }
    case "install":
      return install(command, options, print);
    default:
      return unreachable(command);
  }
}

async function install(
  command: Extract<BackendCommand, { action: "install" }>,
  options: TrialOptions,
  print: (text: string) => void,
): Promise<void> {
  const { kind, index } = command;
  openFolder(options.cacheDir); // else it would fail after the downloads
  const nvidia = kind.code === undefined ? undefined : readNvidiaCards();
  const impossible = cudaProblem(nvidia);
  if (impossible !== undefined) throw new StartError(impossible);
  const part = command.from === undefined ? await releasedPart(command, nvidia, options) : undefined;
  const from = command.from === undefined ? part?.file : libraryIn(command.from, kind, nvidia);
  const library = from === undefined ? undefined : readNamed(kind, from);
  const isOwn = library !== undefined && isOwnBuild(kind, library);
  const problem = isOwn ? partProblem(codeOf(library) ?? "any", nvidia) : codeProblem(kind, nvidia);
  if (problem !== undefined) throw new StartError(problem);
  await installRuntime(kind, index, options);
  options.log(`Trying ${kind.name}. Its first start compiles kernels, which can take a minute.`);
  print(trialText(await installBackend(kind, from, options)));
  if (part?.isDownloaded === true) rmSync(part.file, { force: true });
  print(`${kind.name} is installed. Models use it when they are loaded the next time.`);
}

/** The library of a release; undefined where the package of npm is to be used. A release that was not named may fail. */
async function releasedPart(
  { kind, release }: Extract<BackendCommand, { action: "install" }>,
  nvidia: NvidiaCards | undefined,
  options: TrialOptions,
): Promise<FetchedPart | undefined> {
  if (kind.code === undefined || nvidia === undefined) {
    if (release === undefined) return undefined;
    const why = kind.code === undefined ? `releases have no ${kind.name}` : "NVIDIA's driver does not answer";
    throw new StartError(`${why}. Leave out --release.`);
  }
  const place = partPlace(release);
  if (place === undefined) return undefined;
  try {
    const part = await fetchPart(place, nvidia, options);
    if (part !== undefined) return part;
    if (release !== undefined)
      throw new StartError(`the release at ${release} has no library for these cards. Leave out --release.`);
  } catch (error) {
    if (release !== undefined || !(error instanceof StartError)) throw error;
    options.log(error.message);
  }
  options.log(`Taking ${kind.package} from npm.`);
  return undefined;
}

/** The library that `--from` means: a file, or in a folder the one for the cards that are here. */
function libraryIn(from: string, kind: BackendKind, nvidia: NvidiaCards | undefined): string {
  if (!existsSync(from) || !statSync(from).isDirectory()) return from;
  const part = kind.code === undefined || nvidia === undefined ? [] : [partFile(nvidia)];
  const names = [...part, kind.file];
  const found = names.find((name) => existsSync(join(from, name)));
  if (found !== undefined) return join(from, found);
  throw new StartError(`${from} has no ${names.join(", nor ")}; name a file, or a folder with it.`);
}

/** All back ends of the catalog. */
function listBackends(cacheDir: string): readonly BackendRow[] {
  const installed = new Map(installedBackends(cacheDir).map(({ name, path }) => [name, path]));
  return BACKENDS.map((kind) => {
    const path = installed.get(kind.name);
    const isOwn = path !== undefined && isOwnBuild(kind, readFileSync(path));
    const source = isOwn ? `own build for ${RELEASE}` : `${kind.package}@${RELEASE}`;
    return { name: kind.name, source, isInstalled: path !== undefined };
  });
}

/**
 * Fetches a back end, or takes it from `file`, tries it, and installs it. Throws StartError with the reason when it cannot be
 * fetched, is not of this release, or does not work here; what was installed before stays then.
 */
async function installBackend(
  kind: BackendKind,
  file: string | undefined,
  options: TrialOptions,
): Promise<TrialReport> {
  const fetched = file === undefined ? await fetchPackage(kind, processEnvironment()) : { library: file };
  try {
    const origin = file === undefined ? "package" : "file";
    const staged = await stage(options.cacheDir, kind, fetched.library, origin);
    try {
      const trial = await tryBackend(staged, options);
      publish(options.cacheDir, kind, staged);
      return trial;
    } finally {
      discard(staged);
    }
  } finally {
    if ("folder" in fetched) removeTemporary(fetched.folder);
  }
}

/** Tries an installed back end. Throws StartError when it is not installed or does not work. */
async function testBackend(kind: BackendKind, options: TrialOptions): Promise<TrialReport> {
  const library = installedBackends(options.cacheDir).find(({ name }) => name === kind.name);
  if (library === undefined)
    throw new StartError(`${kind.name} is not installed. Install it with: svc backend install ${kind.name}`);
  return tryBackend(library, options);
}

/** Answers one question on the back end's devices and on the CPU. */
async function tryBackend(library: BackendLibrary, options: TrialOptions): Promise<TrialReport> {
  const onDevice = await answer({ deviceLayers: -1, backends: [library] }, options);
  const [failure] = onDevice.host.backend_failures;
  if (failure !== undefined) throw new StartError(failure);
  const devices = onDevice.host.devices.filter(({ type }) => type !== "cpu");
  if (devices.length === 0)
    throw new StartError(
      `back end ${library.name} works, but finds no device. Is the card's driver installed, and may this user open its device files?`,
    );
  const onCpu = await answer({ deviceLayers: 0 }, options);
  return {
    devices,
    answers: { device: onDevice.text, cpu: onCpu.text },
    ms: { device: onDevice.ms, cpu: onCpu.ms },
  };
}

const QUESTION: RunRequest = {
  model: "default",
  prompt: {
    type: "chat",
    messages: [{ role: "user", content: [{ type: "text", text: "What is 12 + 30?" }] }],
    tools: [],
    toolChoice: { type: "none" },
    thinking: { enabled: false },
  },
  sampling: { ...DEFAULT_SAMPLING, temperature: 0 },
  stop: [],
  maxTokens: 24,
  choices: 1,
  truncate: false,
};

interface Answer {
  readonly text: string;
  readonly ms: number;
  readonly host: EngineHost;
}

/** The built-in model's answer in an engine of its own. Throws StartError when the engine fails. */
async function answer(
  device: { readonly deviceLayers: number; readonly backends?: readonly BackendLibrary[] },
  { cacheDir, verbosity, log }: TrialOptions,
): Promise<Answer> {
  const engine = new EngineClient({
    name: "back end trial",
    options: { ...PROBE_ENGINE, ...device, cacheDir, verbosity },
    openLink: (handlers) => spawnEngine(handlers, processEnvironment()),
    queueMax: 1,
    log,
  });
  try {
    await engine.ready();
    const { host } = engine;
    if (host === undefined) throw new StartError("the trial engine did not describe its devices");
    const started = performance.now();
    let text = "";
    for await (const event of engine.generate(QUESTION, new AbortController().signal, SERVER)) {
      if (event.type === "text") text += event.text;
      if (event.type === "error" && event.error.code === "engine_failed")
        throw new StartError("the engine process ended when it used the back end; the lines above say why");
      if (event.type === "error") throw new StartError(`the trial engine failed: ${event.error.message}`);
    }
    return { text, ms: performance.now() - started, host };
  } catch (error) {
    if (error instanceof StartError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartError(`the trial engine failed: ${reason}`, { cause: error });
  } finally {
    await engine.stop();
  }
}
