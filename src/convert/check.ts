// What is wrong with a folder before the converter reads it: files that are missing or of another form, tensors that are cut off, overlap or
// occur twice. The converter would make a wrong model of some, and of others say what its Python met. Throws sentences that name file and field.

import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { isObject, type Json, jsonIn } from "../core/json.ts";
import { LAYERS_MAX } from "../core/limits.ts";
import { HEADER_BYTES_MAX, HEADERS_BYTES_MAX, JSON_BYTES_MAX } from "./limits.ts";
import { readSafetensors, type SafeTensors, TOO_LARGE } from "./safetensors-header.ts";

const INDEX = "model.safetensors.index.json";
/** Files that the converter reads as objects of JSON. */
const OBJECTS = [
  "config.json",
  "tokenizer.json",
  "tokenizer_config.json",
  "special_tokens_map.json",
  "added_tokens.json",
  "generation_config.json",
  "preprocessor_config.json",
  "processor_config.json",
  INDEX,
] as const;
/** Fields of which the converter makes numbers, and the most that they may be. */
const NUMBERS: readonly (readonly [file: string, names: readonly string[], most: number])[] = [
  ["config.json", ["num_hidden_layers"], LAYERS_MAX],
  ["config.json", ["hidden_size", "vocab_size", "max_position_embeddings"], 2 ** 31 - 1],
  [
    "generation_config.json",
    ["temperature", "top_p", "top_k", "min_p", "repetition_penalty"],
    Number.MAX_SAFE_INTEGER,
  ],
];
const TOKENIZER = /token|vocab|merges|spiece|sentencepiece|tekken|tiktoken/i;
const PART = /^(?<stem>.*)-(?<part>\d{5})-of-(?<parts>\d{5})\.safetensors$/;

/** Throws for a folder of which no right model would come. */
export function checkFolder(folder: string): void {
  const names = readdirSync(folder);
  const objects = new Map<string, Json>();
  for (const name of OBJECTS) if (names.includes(name)) objects.set(name, objectIn(folder, name));
  if (!names.includes("config.json")) throw new Error("config.json is missing. Copy the whole folder.");
  for (const [file, fields, most] of NUMBERS) checkNumbers(file, objects.get(file) ?? {}, fields, most);
  const template = objects.get("tokenizer_config.json")?.["chat_template"] ?? "";
  if (typeof template !== "string" && !Array.isArray(template))
    throw new Error(
      "chat_template of tokenizer_config.json is neither a text nor a list. Mend it, or remove it.",
    );
  const places = placesOf(objects.get(INDEX), names);
  const tensors = tensorsOf(folder, partsOf(names, places), places);
  if (tensors !== undefined) checkHead(objects.get("config.json") ?? {}, tensors);
}

/** Throws for a folder without a tokenizer, whose configuration alone does not have the words. */
export function checkTokenizer(folder: string): void {
  if (readdirSync(folder).some((name) => TOKENIZER.test(name) && name !== "tokenizer_config.json")) return;
  throw new Error("the folder has no tokenizer. Add tokenizer.json or tokenizer.model.");
}

function objectIn(folder: string, name: string): Json {
  const path = join(folder, name);
  if (statSync(path).size > JSON_BYTES_MAX) throw new Error(`${name} is larger than ${JSON_BYTES_MAX} bytes`);
  const value = jsonIn(readFileSync(path, "utf8"));
  if (value === undefined) throw new Error(`${name} is not JSON. Copy it again.`);
  if (!isObject(value)) throw new Error(`${name} is not an object of JSON. Copy it again.`);
  return value;
}

function checkNumbers(file: string, values: Json, names: readonly string[], most: number): void {
  for (const name of names) {
    const value = values[name] ?? 1;
    if (typeof value === "number" && value >= 0 && value <= most) continue;
    const shown = JSON.stringify(value).slice(0, 40);
    throw new Error(`${name} of ${file} must be a number from 0 to ${most}; it is ${shown}`);
  }
}

/** Where the index says that tensors are; undefined without one. */
function placesOf(
  index: Json | undefined,
  names: readonly string[],
): ReadonlyMap<string, string> | undefined {
  if (index === undefined) return undefined;
  const map = index["weight_map"];
  if (!isObject(map)) throw new Error(`weight_map of ${INDEX} is not an object`);
  const places = new Map<string, string>();
  for (const [tensor, file] of Object.entries(map)) {
    if (typeof file !== "string" || /[/\\]/.test(file))
      throw new Error(`weight_map of ${INDEX} has no file of this folder for ${tensor}`);
    if (!names.includes(file)) throw new Error(`${file} is missing, where ${INDEX} has ${tensor}`);
    places.set(tensor, file);
  }
  return places;
}

/** The files that the converter reads. Throws for one of several parts that is missing. */
function partsOf(
  names: readonly string[],
  places: ReadonlyMap<string, string> | undefined,
): readonly string[] {
  const all = names.filter((name) => name.endsWith(".safetensors"));
  const models = all.filter((name) => name.startsWith("model"));
  const read = places === undefined ? (models.length > 0 ? models : all) : [...new Set(places.values())];
  for (const name of read) {
    const { stem = "", parts = "0" } = PART.exec(name)?.groups ?? {};
    for (let part = 1; part <= Number(parts); part++) {
      const other = `${stem}-${String(part).padStart(5, "0")}-of-${parts}.safetensors`;
      if (!names.includes(other)) throw new Error(`${other} is missing. Copy the whole folder.`);
    }
  }
  return read;
}

/** The tensors and their files; undefined where there are too many to check. */
function tensorsOf(
  folder: string,
  files: readonly string[],
  places: ReadonlyMap<string, string> | undefined,
): ReadonlyMap<string, string> | undefined {
  const found = new Map<string, string>();
  let left = HEADERS_BYTES_MAX;
  for (const file of files) {
    const path = join(folder, file);
    if (!existsSync(path)) throw new Error(`${file} is a link to nothing`);
    const read = readSafetensors(path, Math.min(left, HEADER_BYTES_MAX));
    if (read === TOO_LARGE) return undefined; // what is left to check would take too long
    if (typeof read === "string") throw new Error(`${file} is no safetensors file: ${read}. Copy it again.`);
    left -= read.headerBytes;
    checkFile(file, read);
    for (const { name } of read.tensors) {
      const earlier = found.get(name);
      if (earlier !== undefined)
        throw new Error(`${name} is in ${earlier} and in ${file}. Remove one of them.`);
      found.set(name, file);
    }
  }
  for (const [tensor, file] of places ?? [])
    if (found.get(tensor) !== file) throw new Error(`${tensor} is not in ${file}, where ${INDEX} has it`);
  return found;
}

/** llama.cpp takes the embedding where the output matrix is missing. Models that only embed have no `model.` before their names. */
function checkHead({ tie_word_embeddings: tied }: Json, tensors: ReadonlyMap<string, string>): void {
  if (tied !== false || !tensors.has("model.embed_tokens.weight")) return;
  if ([...tensors.keys()].some((name) => name.startsWith("lm_head."))) return;
  throw new Error(
    "lm_head.weight is missing, and tie_word_embeddings of config.json is false. Copy the whole folder, or set it to true.",
  );
}

function checkFile(file: string, { tensors, dataBytes, repeated }: SafeTensors): void {
  if (repeated) throw new Error(`the header of ${file} has a tensor twice`);
  let before: SafeTensors["tensors"][number] | undefined;
  for (const tensor of tensors.toSorted((one, other) => one.from - other.from || one.to - other.to)) {
    const { name, from, to, bits, shape } = tensor;
    if (from > to || to > dataBytes)
      throw new Error(`the data of ${name} is not all in ${file}. Copy it again.`);
    const wanted =
      bits === undefined ? undefined : (shape.reduce((product, axis) => product * axis, 1) * bits) / 8;
    if (wanted !== undefined && Math.ceil(wanted) !== to - from)
      throw new Error(`the shape of ${name} in ${file} has ${wanted} bytes, its data ${to - from}`);
    if (before !== undefined && before.to > from && from < to)
      throw new Error(`the data of ${before.name} and ${name} overlap in ${file}`);
    if (to > from) before = tensor;
  }
}
