// Finds the GGUF file that a model_id means on this machine. Reads folders and the first bytes of files, never a whole
// model. Models of the hub are for src/hub.

import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { foreignFormat } from "../core/foreign-format.ts";
import { chooseModelFiles, partCount, partPath, type Wanted } from "../core/model-files.ts";

import { chooseVoiceFiles, missingVoiceFiles } from "../core/voice-files.ts";
import { BUILTIN_VOICES, NEURAL_VOICE } from "../core/voice-names.ts";
import { startOf } from "../core/file-bytes.ts";

/** The file, the first one of a split model, or what is wrong (a problem's `what`) and its fix. */
export type ModelFile =
  | { readonly ok: true; readonly file: string }
  | { readonly ok: false; readonly what: string; readonly fix: string };

/** A page of the hub, as an absolute path: the working directory is in front. */
const HUB_ADDRESS = /https?:\/+(?:www\.)?(?:huggingface\.co|hf\.co)\/([^/]+\/[^/]+)/;

/** `path` is absolute and names a GGUF file, any part of a split one, or a folder that holds the model wanted. */
export function findModelFile(path: string, wanted: Wanted = {}): ModelFile {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) {
    const [, repository] = HUB_ADDRESS.exec(path) ?? [];
    if (repository !== undefined) return no("this is a web address", `Give the repository: ${repository}.`);
    return no(
      "there is no such file or folder",
      "Give a GGUF file, a folder with one, or a hub repository (owner/name).",
    );
  }
  return stat.isDirectory() ? findInFolder(path, wanted) : findParts(path, wanted);
}

/** `path` is absolute and names the folder of a neural voice, or of one for sherpa-onnx's library. */
export function findVoice(path: string, hasLibrary: boolean): ModelFile {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) {
    return no(
      "there is no such folder",
      `Give the folder of a voice, or one of ${[NEURAL_VOICE, ...BUILTIN_VOICES].join(", ")}; GGUF files cannot speak here.`,
    );
  }
  const names = readdirSync(path);
  if (!hasLibrary) {
    const lacking = missingVoiceFiles(names);
    const fix = `Use one of ${[NEURAL_VOICE, ...BUILTIN_VOICES].join(", ")}, a folder with such a voice, or a VITS voice with format.speech_library.`;
    return lacking.length === 0 ? { ok: true, file: path } : no(`it lacks ${lacking.join(", ")}`, fix);
  }
  const files = chooseVoiceFiles(names);
  return typeof files === "string"
    ? no(files, "Give the folder of one VITS voice.")
    : { ok: true, file: path };
}

function findInFolder(folder: string, wanted: Wanted): ModelFile {
  let names: readonly string[];
  try {
    names = readdirSync(folder, { recursive: wanted.file?.includes("/") ?? false, encoding: "utf8" });
  } catch {
    return no("the folder cannot be read", "Check its permissions.");
  }
  const chosen = chooseModelFiles(names, wanted);
  if (!chosen.ok) return chosen;
  const checked = chosen.parts.map((name) => checkMagic(join(folder, name)));
  return checked.find(({ ok }) => !ok) ?? checked[0] ?? no("it holds no model", "Name a GGUF file.");
}

/** A named file must be alone or have all its parts beside it. */
function findParts(path: string, wanted: Wanted): ModelFile {
  if (wanted.file !== undefined || wanted.quant !== undefined) {
    const what = "this is a file already, so quant and quantized_file have nothing to choose";
    return no(what, "Leave them out, or give the folder or the hub repository.");
  }
  for (let number = 1; number <= partCount(path); number++) {
    const part = partPath(path, number);
    if (statSync(part, { throwIfNoEntry: false }) === undefined) {
      const what = `part ${number} of ${partCount(path)} is not beside it`;
      return no(what, "Put all parts into one folder.");
    }
    const checked = checkMagic(part);
    if (!checked.ok) return checked;
  }
  return { ok: true, file: partPath(path, 1) };
}

/** Catches a wrong file here, where it can be named, instead of in the engine. */
function checkMagic(file: string): ModelFile {
  try {
    if (!statSync(file).isFile()) return no("this is no regular file", "Give a GGUF file.");
    const start = Buffer.from(startOf(file, 64));
    // gguf.h: GGUF_MAGIC
    if (start.toString("latin1", 0, 4) === "GGUF") return { ok: true, file };
    const what = `this is ${foreignFormat(start)}`;
    return no(what, "Give a GGUF file; many models have a repository that ends in -GGUF.");
  } catch {
    return no("the file cannot be read", "Check its permissions.");
  }
}

function no(what: string, fix: string): ModelFile {
  return { ok: false, what, fix };
}
