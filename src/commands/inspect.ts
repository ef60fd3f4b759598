// `svc show` and `svc verify`: what a model's file holds, and whether it is sound.

import { createHash } from "node:crypto";
import { createReadStream, existsSync, realpathSync, statSync } from "node:fs";
import { basename, resolve } from "node:path";
import { fileFacts, modelParts } from "../models/file-facts.ts";
import { modelOnDisk } from "../models/locate.ts";
import { fileText, type ShownFile } from "../cli/file-details.ts";
import { EXIT, type Invocation } from "../cli/invocation.ts";
import { serverCommand } from "../cli/server-commands.ts";
import { findModelFile } from "../config/model-file.ts";
import { defaultModel, type Loaded } from "../config/resolve.ts";
import type { ModelSettings } from "../config/settings.ts";
import { GgufProblem, textOf } from "../core/gguf.ts";
import { ggufFacts, metadataLines, tensorGroups, unknownTensors } from "../core/gguf-facts.ts";
import { partPaths } from "../core/model-files.ts";
import { reasonOf } from "../core/reason.ts";
import { terminalText } from "../core/visible-text.ts";
import { parseHubId } from "../core/hub-id.ts";
import { hubPlace } from "../hub/place.ts";
import { listRepository } from "../hub/repository.ts";
import { readToken } from "../hub/token.ts";
import { type CheckedGguf, checkGguf } from "../core/gguf-check.ts";
import { type CommandHost, failed, stoppable } from "./host.ts";
import { sizeText } from "../core/size-text.ts";

/** Runs `show` or `verify`. */
export function inspect(
  loaded: Loaded,
  invocation: Extract<Invocation, { command: "show" | "verify" }>,
  host: CommandHost,
): Promise<number> {
  return invocation.command === "show" ? show(loaded, invocation, host) : verify(loaded, invocation, host);
}

/** Describes a model: the card of a running server, and its file on this machine; at least one of them. */
async function show(
  { settings }: Loaded,
  invocation: Extract<Invocation, { command: "show" }>,
  host: CommandHost,
): Promise<number> {
  let file: ShownFile | undefined;
  try {
    file = shownFile(invocation.model, settings.models[0]?.device.hf_cache, host);
  } catch (error) {
    host.complain(`svc: show: ${invocation.model}: ${reasonOf(error)}`);
    return EXIT.failure;
  }
  if (invocation.part !== "card") {
    if (file !== undefined) process.stdout.write(fileText(file, invocation.part));
    else
      host.complain(`svc: show: ${invocation.model} is no file of this machine. svc pull downloads a model.`);
    return file === undefined ? EXIT.failure : EXIT.ok;
  }
  if (file === undefined && /\.gguf$/i.test(invocation.model) && parseHubId(invocation.model) === undefined) {
    host.complain(
      `svc: show: ${invocation.model} does not exist. svc cache list shows the downloaded models.`,
    );
    return EXIT.failure;
  }
  try {
    process.stdout.write(await serverCommand(invocation, settings));
  } catch (error) {
    if (file === undefined) return failed(host, error);
  }
  if (file !== undefined && !invocation.json) process.stdout.write(`\n${fileText(file, "card")}`);
  return EXIT.ok;
}

/** The entry of a model that a command line names. */
function entryOf(name: string, hfCache: string | undefined): ModelSettings | undefined {
  const local = resolve(name);
  const found = existsSync(local) ? findModelFile(local) : undefined;
  if (found?.ok === true) return defaultModel(found.file);
  if (found !== undefined) throw new GgufProblem(`${found.what}. ${found.fix}`);
  if (parseHubId(name) === undefined) return undefined;
  const model = defaultModel(name);
  return hfCache === undefined ? model : { ...model, device: { ...model.device, hf_cache: hfCache } };
}

function shownFile(
  name: string,
  hfCache: string | undefined,
  { options }: CommandHost,
): ShownFile | undefined {
  const entry = entryOf(name, hfCache);
  const path = entry === undefined ? undefined : modelOnDisk(entry);
  const facts = entry === undefined ? undefined : fileFacts(entry, options);
  if (path === undefined || facts === undefined) return undefined;
  const parts = modelParts(path);
  const headers = parts.map(({ header }) => header);
  const fields = headers[0]?.fields;
  const template = fields?.get("tokenizer.chat_template");
  return {
    path,
    parts: parts.length,
    name: ggufFacts(headers).name,
    facts,
    tensors: tensorGroups(headers),
    metadata: fields === undefined ? [] : metadataLines(fields),
    template: template === undefined ? undefined : textOf(template),
  };
}

/** Checks a model: tensors within its files, and hashes as the hub states them. */
async function verify(
  { settings }: Loaded,
  { model: name }: Extract<Invocation, { command: "verify" }>,
  host: CommandHost,
): Promise<number> {
  let path: string | undefined;
  try {
    const entry = entryOf(name, settings.models[0]?.device.hf_cache);
    path = entry === undefined ? undefined : modelOnDisk(entry);
  } catch (error) {
    host.complain(`svc: verify: ${name}: ${reasonOf(error)}`);
    return EXIT.failure;
  }
  if (path === undefined) {
    host.complain(`svc: verify: ${name} is not on this machine. svc cache list shows what is there.`);
    return EXIT.failure;
  }
  const signal = stoppable(host, "it was stopped");
  try {
    const hashes = await statedHashes(name, host, settings.global.token_source, signal);
    let isSound = true;
    for (const part of partPaths(path)) {
      const found = checked(part);
      const problem = typeof found === "string" ? found : await hashProblem(part, hashes, signal);
      const sound = typeof found === "string" ? "" : soundText(found, hashes.of(part) && hashes.origin);
      console.log(terminalText(`${basename(part)}: ${problem ?? sound}`));
      isSound &&= problem === undefined;
    }
    const fix = existsSync(resolve(name))
      ? "Copy or download it again."
      : `svc rm ${name}, then svc pull ${name}.`;
    if (!isSound) host.complain(`svc: verify: ${name} is damaged. ${fix}`);
    return isSound ? EXIT.ok : EXIT.failure;
  } catch (error) {
    return failed(host, error);
  }
}

/** The header of a sound file, or what is wrong with it. */
function checked(path: string): CheckedGguf | string {
  try {
    return checkGguf(path);
  } catch (error) {
    return reasonOf(error);
  }
}

function soundText({ header, bytes }: CheckedGguf, origin: string | undefined): string {
  const unknown = unknownTensors(header);
  const unchecked = unknown === 0 ? "" : ` (${unknown} of a type that this version does not know)`;
  return `${sizeText(bytes)}, ${header.tensors.size} tensors in range${unchecked}, ${origin ?? "no hash is known"}`;
}

interface Hashes {
  /** Hash by size and file name; undefined: by the name of the content in the cache. */
  readonly of: (file: string) => string | undefined;
  /** Where these hashes are from, in a few words. */
  readonly origin: string;
}

/** Hashes as the hub states them now; without the hub, as it stated them at the download. */
async function statedHashes(
  name: string,
  { environment, complain }: CommandHost,
  tokenSource: string,
  signal: AbortSignal,
): Promise<Hashes> {
  const id = parseHubId(name);
  if (id === undefined || existsSync(resolve(name))) return { of: () => undefined, origin: "" };
  const place = hubPlace(environment);
  const kept: Hashes = {
    of: (file) => /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.exec(basename(realpathSync(file)))?.[0],
    origin: "hash as at the download",
  };
  if (place.offline) return kept;
  try {
    const token = readToken(tokenSource, place, environment);
    const { files } = await listRepository(id, { endpoint: place.endpoint, token, signal });
    const known = new Map(files.map(({ path, hash }) => [basename(path), hash]));
    return { of: (file) => known.get(basename(file)), origin: "hash as on the hub" };
  } catch (error) {
    signal.throwIfAborted();
    complain(`svc: verify: ${error instanceof Error ? error.message : String(error)}`);
    return kept;
  }
}

async function hashProblem(file: string, { of }: Hashes, signal: AbortSignal): Promise<string | undefined> {
  const stated = of(file);
  if (stated === undefined) return undefined;
  const hasher =
    stated.length === 64 ? createHash("sha256") : createHash("sha1").update(`blob ${statSync(file).size}\0`); // as git computes it
  for await (const piece of createReadStream(file, { signal })) hasher.update(piece as Uint8Array);
  return hasher.digest("hex") === stated ? undefined : "the content does not match the hash of the hub";
}
