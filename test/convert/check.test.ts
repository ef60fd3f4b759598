// Folders of which no right model would come: each is refused with its file and field.

import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkFolder, checkTokenizer } from "../../src/convert/check.ts";
import { tempDir } from "../helpers/tmp.ts";

type Entry = Record<string, unknown>;

/** A file of tensors of four half floats each. `edit` changes its header, `raw` the header's text. */
function safetensors(
  names: readonly string[],
  {
    edit = () => {},
    raw = (text) => text,
  }: { edit?: (header: Record<string, Entry>) => void; raw?: (text: string) => string } = {},
): Buffer {
  const header: Record<string, Entry> = {};
  names.forEach(
    (name, at) => (header[name] = { dtype: "F16", shape: [2, 2], data_offsets: [8 * at, 8 * at + 8] }),
  );
  edit(header);
  const text = Buffer.from(raw(JSON.stringify({ __metadata__: { format: "pt" }, ...header })));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, text, Buffer.alloc(8 * names.length)]);
}

const PARTS = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"] as const;
const INDEX = "model.safetensors.index.json";
const whole = { "model.safetensors": safetensors(["a", "b"]) };
const split = { [PARTS[0]]: safetensors(["a"]), [PARTS[1]]: safetensors(["b"]) };
const indexOf = (map: unknown) => JSON.stringify({ weight_map: map });
const good = { "config.json": '{"num_hidden_layers": 2}', "tokenizer.json": "{}" };

type Files = Readonly<Record<string, string | Buffer | undefined>>;

function folderOf(files: Files): string {
  const folder = tempDir();
  mkdirSync(folder, { recursive: true });
  for (const [name, content] of Object.entries({ ...good, ...files }))
    if (content !== undefined) writeFileSync(join(folder, name), content);
  return folder;
}

test.each<readonly [string, Files]>([
  ["one file", whole],
  ["parts without an index", split],
  ["parts with one", { ...split, [INDEX]: indexOf({ a: PARTS[0], b: PARTS[1] }) }],
  ["a sentencepiece model alone", { ...whole, "tokenizer.json": undefined, "tokenizer.model": "x" }],
  ["another file beside the model's", { ...whole, "consolidated.safetensors": safetensors(["a"]) }],
  [
    "a type that is not known here",
    { "model.safetensors": safetensors(["a"], { edit: ({ a }) => a && (a["dtype"] = "X9") }) },
  ],
  [
    "packed types",
    {
      "model.safetensors": safetensors(["a"], {
        edit: ({ a }) => a && Object.assign(a, { dtype: "F4", shape: [16] }),
      }),
    },
  ],
  [
    "fields without a value",
    { ...whole, "generation_config.json": '{"top_p": null, "eos_token_id": [1, 2]}' },
  ],
])("%s is a model", (_, files) => expect(() => checkFolder(folderOf(files))).not.toThrow());

const UNTIED = { "config.json": '{"tie_word_embeddings": false}' };
const EMBEDDING = "model.embed_tokens.weight";

test.each<readonly [string, Files]>([
  [
    "an output matrix of its own",
    { ...UNTIED, "model.safetensors": safetensors([EMBEDDING, "lm_head.weight"]) },
  ],
  ["the embedding as output matrix", { "model.safetensors": safetensors([EMBEDDING]) }],
  [
    "no output, as it embeds texts only",
    { ...UNTIED, "model.safetensors": safetensors(["embed_tokens.weight"]) },
  ],
])("a model with %s is one", (_, files) => expect(() => checkFolder(folderOf(files))).not.toThrow());

const broken = (edit: (header: Record<string, Entry>) => void, raw?: (text: string) => string) => ({
  "model.safetensors": safetensors(["a", "b"], { edit, ...(raw && { raw }) }),
});

test.each<readonly [string, Files]>([
  ["lm_head.weight is missing, and tie", { ...UNTIED, "model.safetensors": safetensors([EMBEDDING]) }],
  ["the data of a and b overlap in model.safetensors", broken(({ b }) => b && (b["data_offsets"] = [4, 12]))],
  ["the data of b is not all in model.safetensors", broken(({ b }) => b && (b["data_offsets"] = [80, 88]))],
  [
    "the shape of a in model.safetensors has 10 bytes, its data 8",
    broken(({ a }) => a && (a["shape"] = [5])),
  ],
  ["the entry of a in its header has no type", broken(({ a }) => a && (a["shape"] = [-2, -2]))],
  [
    "the header of model.safetensors has a tensor twice",
    broken(
      () => {},
      (text) => text.replace('"b":', '"a":'),
    ),
  ],
  [
    "its header is not JSON",
    broken(
      () => {},
      (text) => text.replace("{", "}"),
    ),
  ],
  ["model.safetensors is no safetensors file: it is shorter", { "model.safetensors": "" }],
  [
    "its header is longer than the file",
    { "model.safetensors": "version https://git-lfs.github.com/spec/v1" },
  ],
  [`${PARTS[1]} is missing`, { ...split, [PARTS[1]]: undefined }],
  [
    `${PARTS[1]} is missing, where ${INDEX} has b`,
    { ...split, [PARTS[1]]: undefined, [INDEX]: indexOf({ a: PARTS[0], b: PARTS[1] }) },
  ],
  [`a is in ${PARTS[0]} and in ${PARTS[1]}`, { ...split, [PARTS[1]]: safetensors(["a", "b"]) }],
  [
    `b is not in ${PARTS[0]}, where ${INDEX} has it`,
    { ...split, [INDEX]: indexOf({ a: PARTS[0], b: PARTS[0] }) },
  ],
  [`c is not in ${PARTS[1]}`, { ...split, [INDEX]: indexOf({ a: PARTS[0], b: PARTS[1], c: PARTS[1] }) }],
  [`${INDEX} has no file of this folder for a`, { ...whole, [INDEX]: indexOf({ a: "../x.safetensors" }) }],
  [`weight_map of ${INDEX} is not an object`, { ...whole, [INDEX]: "{}" }],
  ["tokenizer.json is not JSON", { ...whole, "tokenizer.json": "{" }],
  ["config.json is not an object", { ...whole, "config.json": "[]" }],
  ["config.json is missing", { ...whole, "config.json": undefined }],
  ["generation_config.json is not JSON", { ...whole, "generation_config.json": "[1," }],
  [
    "top_p of generation_config.json must be a number",
    { ...whole, "generation_config.json": '{"top_p": [0.9]}' },
  ],
  [
    "num_hidden_layers of config.json must be a number",
    { ...whole, "config.json": '{"num_hidden_layers": "two"}' },
  ],
  [
    "num_hidden_layers of config.json must be a number",
    { ...whole, "config.json": '{"num_hidden_layers": 1000000000}' },
  ],
  ["chat_template of tokenizer_config.json", { ...whole, "tokenizer_config.json": '{"chat_template": 5}' }],
])("%s", (message, files) => expect(() => checkFolder(folderOf(files))).toThrow(message));

test("a folder without a tokenizer is refused, also with its configuration", () => {
  const files = { ...whole, "tokenizer.json": undefined };
  expect(() => checkTokenizer(folderOf({ ...files, "tokenizer_config.json": "{}" }))).toThrow(
    "has no tokenizer",
  );
  for (const name of ["tokenizer.model", "vocab.txt", "qwen.tiktoken", "tekken.json"])
    expect(() => checkTokenizer(folderOf({ ...files, [name]: "x" }))).not.toThrow();
});
