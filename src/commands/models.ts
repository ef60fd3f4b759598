// Commands about models on disk and the hub: pull, cache, rm, quantize, login.

import { shownAddress } from "../core/shown-address.ts";
import { existsSync, statSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import { pullVoice, removeVoice } from "../app/voices.ts";
import { modelFile, urlFile } from "../models/model-files.ts";
import { cacheTable, deletedText } from "../cli/cache-table.ts";
import { EXIT, type Invocation } from "../cli/invocation.ts";
import { progressBar } from "../cli/progress-bar.ts";
import { readSecret } from "../cli/read-secret.ts";
import { modelName } from "../config/model-name.ts";
import { BUILTIN_MODEL_ID } from "../config/model-settings.ts";
import type { Loaded } from "../config/resolve.ts";
import type { ModelSettings, Settings } from "../config/settings.ts";
import { unreachable } from "../core/assert.ts";
import { purgeBlocks } from "../core/block-folder.ts";
import { defined } from "../core/defined.ts";
import { parseHubId } from "../core/hub-id.ts";
import { neuralVoiceNamed } from "../core/voice-names.ts";
import { terminalText } from "../core/visible-text.ts";
import { FILE_TYPE_NAMES, fileTypeOf, needsImportance } from "../core/quantization.ts";
import {
  type CachedFile,
  type Deleted,
  deleteCached,
  deleteFiles,
  listCache,
  snapshotPath,
} from "../hub/cache.ts";
import { processWith } from "../hub/open-files.ts";
import { type HubPlace, hubPlace } from "../hub/place.ts";
import { ProgressLog } from "../hub/progress.ts";
import { pruneRecords, recordedModels } from "../hub/records.ts";
import { storeToken } from "../hub/token.ts";
import { lossWarning, quantize } from "../quantize/run.ts";
import { type TensorType, tensorTypeOf, typedTensors } from "../quantize/tensor-types.ts";
import { type CommandHost, failed, showsInPlace, stoppable } from "./host.ts";
import { search } from "./search.ts";
import { sizeText } from "../core/size-text.ts";

/** The hub's place for the first model, which stands for all flags. */
function hubOf({ environment }: CommandHost, settings: Settings): HubPlace {
  return hubPlace(environment, settings.models[0]?.device.hf_cache);
}

/** Downloads a model, or brings it up to date; servers serve it from now on. Prints its path. */
export async function pull(
  { settings }: Loaded,
  { projector, draft, url, voice }: Extract<Invocation, { command: "pull" }>,
  host: CommandHost,
): Promise<number> {
  const signal = stoppable(host, "it was stopped; the next pull resumes");
  if (voice !== undefined) {
    try {
      const place = hubOf(host, settings);
      console.log(terminalText(await pullVoice(voice, host.options, { place, signal })));
      return EXIT.ok;
    } catch (error) {
      return failed(host, error);
    }
  }
  const [model] = settings.models;
  if (model === undefined || (url === undefined && !isOnHub(model))) {
    host.complain("svc: pull: this is a file of this machine. Give a repository: owner/name:Q4_K_M.");
    return EXIT.usage;
  }
  try {
    const options = { signal, refresh: true, isServed: true, companions: { projector, draft } };
    const file =
      url === undefined
        ? await modelFile(model, host.options, options)
        : await urlFile(url, model, host.options, options);
    console.log(terminalText(file));
    return EXIT.ok;
  } catch (error) {
    return failed(host, error);
  }
}

function isOnHub({ model_id }: ModelSettings): boolean {
  return !isAbsolute(model_id) && parseHubId(model_id) !== undefined;
}

/** `svc search` and `svc cache`. */
export function runCache(
  loaded: Loaded,
  invocation: Extract<Invocation, { command: "search" | "cache-list" | "cache-delete" | "cache-purge" }>,
  host: CommandHost,
): number | Promise<number> {
  switch (invocation.command) {
    case "search":
      return search(loaded, invocation, host);
    case "cache-list":
      return listModels(loaded, host);
    case "cache-delete":
      return deleteModel(loaded, invocation.id, host);
    case "cache-purge":
      return purgeCache(loaded, host);
    default:
      return unreachable(invocation);
  }
}

function listModels({ settings }: Loaded, host: CommandHost): number {
  const { cacheDir } = hubOf(host, settings);
  process.stdout.write(cacheTable(listCache(cacheDir), cacheDir));
  return EXIT.ok;
}

function deleteModel({ settings }: Loaded, name: string, host: CommandHost): number {
  if (neuralVoiceNamed(name) !== undefined) {
    if (removeVoice(name, host.options.cacheDir)) return EXIT.ok;
    host.complain(`svc: the voice ${name} is not on this machine.`);
    return EXIT.failure;
  }
  const id = parseHubId(name);
  const place = hubOf(host, settings);
  let deleted: Deleted | undefined;
  try {
    deleted = id && deleteCached(place.cacheDir, id, (files) => refuseUsed(name, files, place.cacheDir));
  } catch (error) {
    return failed(host, error);
  }
  if (deleted === undefined || deleted.files.length === 0) {
    host.complain(`svc: no model ${name} in ${place.cacheDir}. svc cache list shows what is there.`);
    return EXIT.failure;
  }
  const companions = new Set(id === undefined ? [] : pruneRecords(place.cacheDir, id.repo));
  const files = listCache(place.cacheDir, true).filter(({ link }) => companions.has(link));
  const freed = deleteFiles(place.cacheDir, files);
  process.stdout.write(
    deletedText({ files: [...deleted.files, ...files], freedBytes: deleted.freedBytes + freed }),
  );
  return EXIT.ok;
}

/** Throws where a process has one of the files loaded that no server gives up by itself, as it does with pulled models. */
function refuseUsed(name: string, files: readonly CachedFile[], cacheDir: string): void {
  const served = recordedModels(cacheDir).filter(({ isServed }) => isServed);
  const givenUp = new Set(
    served.flatMap((one) => one.files.map((path) => snapshotPath(cacheDir, one.repo, one.commit, path))),
  );
  const pid = processWith(files.filter(({ link }) => !givenUp.has(link)).map(({ blob }) => blob));
  if (pid !== undefined)
    throw new Error(
      `${name} is in use by process ${pid}. End that server, or take the model out of its settings, and try again.`,
    );
}

/** Deletes the blocks of the disk tier. */
async function purgeCache({ settings }: Loaded, host: CommandHost): Promise<number> {
  const { cache_disk: folder } = settings.runtime;
  if (folder === undefined) {
    host.complain(
      "svc: cache purge: name the folder with --cache-disk, or runtime.cache_disk in the settings.",
    );
    return EXIT.usage;
  }
  const { blocks, bytes } = await purgeBlocks(folder);
  process.stdout.write(`${blocks} blocks deleted, ${sizeText(bytes)} freed\n`);
  return EXIT.ok;
}

/** What `svc quantize` writes; undefined with a complaint for arguments that make no sense. */
function quantizeTarget(
  model: ModelSettings,
  { type: word, output, calibrate }: Extract<Invocation, { command: "quantize" }>,
  complain: CommandHost["complain"],
) {
  const type = fileTypeOf(word);
  if (type === undefined) {
    complain(`svc: quantize: "${word}" is not a type. Types: ${FILE_TYPE_NAMES.join(", ")}.`);
    return undefined;
  }
  const { imatrix } = model.quantization;
  if (imatrix !== undefined && calibrate !== undefined) {
    complain("svc: quantize: --imatrix and --calibrate exclude each other. Give one of them.");
    return undefined;
  }
  if (calibrate !== undefined && statSync(calibrate, { throwIfNoEntry: false })?.isFile() !== true) {
    complain(`svc: quantize: there is no text file ${calibrate}. Name one with --calibrate FILE.`);
    return undefined;
  }
  if (needsImportance(type) && imatrix === undefined && calibrate === undefined) {
    complain(
      `svc: quantize: ${type} needs an importance matrix. Give one with --imatrix FILE, or a text with --calibrate FILE.`,
    );
    return undefined;
  }
  const target = resolve(output ?? `${modelName(model)}-${type}.gguf`);
  if (existsSync(target)) {
    complain(`svc: quantize: ${target} exists. Name another file with --output, or delete it.`);
    return undefined;
  }
  return { type, target };
}

/** The types of single tensors; undefined with a complaint for one that is none. */
function tensorTypesOf(
  words: readonly string[],
  complain: CommandHost["complain"],
): readonly TensorType[] | undefined {
  const types: TensorType[] = [];
  for (const word of words) {
    const one = tensorTypeOf(word);
    if (typeof one === "string") {
      complain(`svc: quantize: --type: ${one}.`);
      return undefined;
    }
    types.push(one);
  }
  return types;
}

/** Writes a model again with another type of weights; never overwrites a file. */
export async function quantizeModel(
  { settings }: Loaded,
  invocation: Extract<Invocation, { command: "quantize" }>,
  host: CommandHost,
): Promise<number> {
  const [model] = settings.models;
  const wanted = model === undefined ? undefined : quantizeTarget(model, invocation, host.complain);
  const tensorTypes = tensorTypesOf(invocation.tensorTypes, host.complain);
  if (model === undefined || wanted === undefined || tensorTypes === undefined) return EXIT.usage;
  const { type, target } = wanted;
  const signal = stoppable(host, "it was stopped");
  const tensors = (total: number): string => `${total} tensors`;
  const meter = showsInPlace(host.environment)
    ? progressBar(type, tensors)
    : new ProgressLog((line) => host.complain(`svc: ${line}`), {
        verb: `quantizing to ${type}`,
        size: tensors,
      });
  try {
    const file = await modelFile(model, host.options, { signal });
    if (file === BUILTIN_MODEL_ID && tensorTypes.length > 0)
      throw new Error("quantize: --type needs a model file; the built-in model has none");
    if (tensorTypes.length > 0) typedTensors(file, tensorTypes); // a pattern without a tensor fails before minutes of work
    const warning = file === BUILTIN_MODEL_ID ? undefined : lossWarning(file, type);
    if (warning !== undefined) host.complain(`svc: quantize: ${warning}`);
    if (invocation.calibrate !== undefined)
      host.complain(`svc: quantize: the model reads ${invocation.calibrate} first, at its speed for prompts`);
    await quantize(
      {
        ...(file === BUILTIN_MODEL_ID ? {} : { input: file }),
        output: target,
        type,
        cacheDir: host.options.cacheDir,
        tensorTypes,
        ...defined({ importance: model.quantization.imatrix, calibration: invocation.calibrate }),
      },
      (done, total) => meter.update({ doneBytes: done, totalBytes: total }),
      signal,
    );
  } catch (error) {
    return failed(host, error);
  } finally {
    meter.stop();
  }
  console.log(target);
  return EXIT.ok;
}

/** Stores a hub token, typed or piped in. */
export async function login(host: CommandHost): Promise<number> {
  const place = hubPlace(host.environment);
  const question = `Token for ${shownAddress(place.endpoint)} (it is not shown): `;
  const token = await readSecret(process.stdin, process.stderr, question);
  if (token === undefined || /\s/.test(token)) {
    host.complain("svc: login: no token. Type it, or pipe it in: svc login <token.txt");
    return EXIT.usage;
  }
  storeToken(place, token);
  console.log(`The token is stored in ${place.tokenFile}.`);
  return EXIT.ok;
}
