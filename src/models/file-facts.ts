// What is known of a model from its file, before it is loaded.

import { statSync } from "node:fs";
import { templateFile } from "../config/chat-template.ts";
import { textOptions } from "../config/engine-options.ts";
import type { ModelSettings, Settings } from "../config/settings.ts";
import { freeMemory } from "../core/free-memory.ts";
import type { GgufHeader } from "../core/gguf.ts";
import { knowHeaders, readGgufHeader } from "../core/gguf-file.ts";
import { ggufFacts } from "../core/gguf-facts.ts";
import { partPaths } from "../core/model-files.ts";
import type { Modality } from "../core/message.ts";
import type { ModelFileFacts } from "../core/model-info.ts";
import { statsOf } from "../core/readable.ts";
import { memoryAtMost, tokenTable } from "../engine/memory-fit.ts";
import type { TextOptions } from "../engine/protocol.ts";
import { filesOf, modelOnDisk, withCompanions } from "./locate.ts";

interface FactsOptions {
  readonly settings: Settings;
  readonly cacheDir: string;
}

/** The parts of a model's file. */
export function modelParts(
  path: string,
): readonly { readonly path: string; readonly header: GgufHeader; readonly bytes: number }[] {
  return partPaths(path).map((part) => ({
    path: part,
    header: readGgufHeader(part),
    bytes: statSync(part).size,
  }));
}

/** Engine options by which the memory of a model is estimated: what is found when it is loaded takes little or none. */
export function optionsToEstimate(
  entry: ModelSettings,
  modelPath: string | undefined,
  { settings, cacheDir }: FactsOptions,
): TextOptions {
  const found = {
    adapterPath: undefined,
    chatTemplate: undefined,
    rpcEndpoints: [],
    backends: () => undefined,
  };
  return textOptions(entry, { settings, cacheDir, verbosity: 0 }, { modelPath, ...found });
}

/**
 * Facts of the model's file, or of the copy at `path`, and its memory; undefined where it is not on this machine. Throws why it cannot
 * be read.
 */
export function fileFacts(
  model: ModelSettings,
  { settings, cacheDir }: FactsOptions,
  path = modelOnDisk(model),
): ModelFileFacts | undefined {
  if (path === undefined) return undefined;
  const parts = modelParts(path);
  const facts = ggufFacts(parts.map(({ header }) => header));
  const { architecture, license, quantization, contextTokens, parameters, hasChatTemplate } = facts;
  const isConfigured = templateFile(model, settings) !== undefined;
  const chatTemplate = isConfigured ? "settings" : hasChatTemplate ? "file" : "none";
  const sizeBytes = parts.reduce((sum, { bytes }) => sum + bytes, 0);
  const entry = withCompanions(model, settings);
  const options = optionsToEstimate(entry, path, { settings, cacheDir });
  const files = filesOf(path, entry);
  const weights = files.reduce((sum, file) => sum + (statsOf(file)?.size ?? 0), 0);
  const file = {
    metadata: parts[0]?.header.fields ?? new Map(),
    weightBytes: weights,
    options,
    table: tokenTable(parts.map(({ header }) => header)),
  };
  const memoryBytes = memoryAtMost(file, freeMemory());
  const ofFile = { architecture, license, quantization, contextTokens, parameters, chatTemplate } as const;
  const { isBase: _, ...chatting } = facts.card.abilities;
  const abilities = isConfigured ? chatting : facts.card.abilities;
  const card = { ...facts.card, abilities, modalities: projectorModalities(entry.format.mmproj) };
  return { ...ofFile, sizeBytes, memoryBytes, card };
}

/** What a projector takes, by its header; nothing where it cannot be read: the load will say why. */
function projectorModalities(file: string | undefined): readonly Modality[] {
  if (file === undefined) return [];
  try {
    const { fields } = readGgufHeader(file);
    const says = (key: string): boolean => fields.get(key)?.raw[0] === 1;
    const isAudio = says("clip.has_audio_encoder");
    const isImage = says("clip.has_vision_encoder") || !isAudio;
    return [...(isImage ? ["image" as const] : []), ...(isAudio ? ["audio" as const] : [])];
  } catch {
    return [];
  }
}

/** An entry with the settings that its load gets. */
export interface LoadedWith {
  readonly entry: ModelSettings;
  readonly settings: Settings;
}

/** Reads the headers of an entry's files before facts are asked of them, so that other work of the server goes on. */
export async function knowFiles(path: string, { entry, settings }: LoadedWith): Promise<void> {
  const { mmproj } = withCompanions(entry, settings).format;
  await knowHeaders([...partPaths(path), ...(mmproj === undefined ? [] : [mmproj])]);
}

/**
 * The facts of an entry's file, read once for each state of file and settings; undefined where they cannot be read. `loadedPath`: the
 * quantized copy that is loaded in its place, if any. Does not delay other work of the server.
 */
export function rememberedFacts(
  loadedWith: () => LoadedWith,
  cacheDir: string,
  loadedPath: () => string | undefined,
): () => Promise<ModelFileFacts | undefined> {
  let known: { readonly path: string; readonly stamp: string; readonly facts: ModelFileFacts } | undefined;
  return async () => {
    const now = loadedWith();
    const { entry, settings } = now;
    const own = known?.path ?? modelOnDisk(entry);
    const path = own === undefined ? undefined : (loadedPath() ?? own);
    if (path === undefined) return known?.facts;
    const stamp = stampOf(path, now);
    if (path === known?.path && stamp === known.stamp) return known.facts;
    await knowFiles(path, now);
    try {
      const facts = fileFacts(entry, { settings, cacheDir }, path);
      if (facts !== undefined) known = { path, stamp, facts };
    } catch {
      // its load will say what is wrong
    }
    return known?.facts;
  };
}

/** Differs once the file, or what it is loaded with, has changed. */
function stampOf(path: string, { entry, settings }: LoadedWith): string {
  const stat = statSync(path, { throwIfNoEntry: false });
  return JSON.stringify([stat?.size, stat?.mtimeMs, entry.device, settings.paged_attn.cache_type]);
}
