// Converts a PEFT adapter folder into a GGUF adapter for llama.cpp. Validates the files before the engine sees them: ranks,
// shapes, names, the base model. Source: convert_lora_to_gguf of llama.cpp.

import { itemAt } from "../core/assert.ts";
import { lstatSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { elementsOf } from "../core/gguf-facts.ts";
import { f32Field, stringField, type Tensor, TENSOR, writeGguf } from "./gguf-write.ts";
import { type GgufHeader, textOf, unsigned } from "../core/gguf.ts";
import { writeAside } from "../core/temporary.ts";
import { readGgufHeader } from "../core/gguf-file.ts";
import { AdapterError } from "./adapter-error.ts";
import { copyGgufAdapter } from "./gguf-adapter.ts";
import { ARCHITECTURES, type Heads, isAllExperts, permuteRows, type Target, targetOf } from "./names.ts";
import { type LoraConfig, readPeftConfig } from "./peft.ts";
import { type SafeTensor, Safetensors } from "./safetensors.ts";

export const WEIGHTS_FILE = "adapter_model.safetensors";
export const CONFIG_FILE = "adapter_config.json";
/** Far above any real configuration, bytes. */
const CONFIG_BYTES_MAX = 1024 * 1024;

/** Facts of a converted adapter. */
export interface ConvertedAdapter {
  /** The largest rank of its modules. */
  readonly rank: number;
  /** Bytes of its tensors in memory. */
  readonly bytes: number;
}

/** A module's two factors: B·A is added to its weight. */
interface Pair {
  readonly module: string;
  readonly a: SafeTensor;
  readonly b: SafeTensor;
}

/** Facts of a GGUF adapter. Throws an Error for another file. */
export function describeAdapter(path: string): ConvertedAdapter {
  const tensors = [...readGgufHeader(path).tensors.values()];
  const ranks = tensors.filter(({ name }) => name.endsWith(".lora_b")).map(({ shape }) => itemAt(shape, 0));
  return {
    rank: Math.max(0, ...ranks),
    bytes: tensors.reduce((sum, { shape }) => sum + 4 * elementsOf(shape), 0),
  };
}

/** A conversion, as plain data for the child process. */
export interface Conversion {
  /** One adapter folder or GGUF file, or several folders that become their sum. */
  readonly folders: readonly string[];
  /** GGUF file of the model. */
  readonly baseModel: string;
  readonly output: string;
  /** Links are allowed. Not for folders that clients name: a link could lead anywhere. */
  readonly mayLink: boolean;
}

/**
 * Converts the adapters in `folders`, for the model whose header is `base`, into one and writes `output` atomically. Several
 * low-rank updates of one weight become one update whose rank is the sum of theirs. Throws AdapterError with one sentence
 * that names the file, the module and the mismatch.
 */
export function convertAdapter(
  folders: readonly string[],
  base: GgufHeader,
  output: string,
  mayLink = false,
): void {
  const stat = mayLink ? statSync : lstatSync;
  const [first = ""] = folders;
  if (folders.length === 1 && stat(first).isFile()) return copyGgufAdapter(first, base, output);
  const architecture = architectureOf(base);
  const heads = headsOf(base, architecture);
  const configs = folders.map((folder) => readPeftConfig(readConfig(folder, stat)));
  const opened: Safetensors[] = [];
  try {
    const byTensor = new Map<string, Module[]>();
    for (const [i, folder] of folders.entries()) {
      const weights = openWeights(folder, stat);
      opened.push(weights);
      const config = configs[i];
      if (config === undefined) continue;
      for (const pair of pairsOf(weights)) {
        const module = moduleOf(pair, { base, architecture, heads, config });
        const { tensor } = module.target;
        byTensor.set(tensor, [...(byTensor.get(tensor) ?? []), { ...module, weights }]);
      }
    }
    // Without alpha, llama.cpp does not scale: the sum of updates contains their scales already.
    const alpha = configs.length === 1 ? itemAt(configs, 0).alpha : 0;
    const fields = [
      stringField("general.type", "adapter"),
      stringField("general.architecture", architecture),
      stringField("adapter.type", "lora"),
      f32Field("adapter.lora.alpha", alpha),
    ];
    const tensors = [...byTensor.values()].flatMap((modules) => tensorsOf(modules, alpha));
    writeAside(output, (aside) => writeGguf(aside, fields, tensors));
  } finally {
    for (const weights of opened) weights.close();
  }
}

type StatFile = typeof statSync;

function readConfig(folder: string, stat: StatFile): string {
  const path = regularFile(folder, CONFIG_FILE, stat);
  if (stat(path).size > CONFIG_BYTES_MAX) throw new AdapterError(`${CONFIG_FILE} is too large`);
  return readFileSync(path, "utf8");
}

function openWeights(folder: string, stat: StatFile): Safetensors {
  if (
    !readdirSync(folder).includes(WEIGHTS_FILE) &&
    readdirSync(folder).some((name) => /\.(bin|pt|pth)$/.test(name))
  ) {
    throw new AdapterError(
      `the adapter has no ${WEIGHTS_FILE}; pickled weights are rejected, because they can run code`,
    );
  }
  return new Safetensors(regularFile(folder, WEIGHTS_FILE, stat));
}

/** A file of the folder. */
function regularFile(folder: string, name: string, stat: StatFile): string {
  const path = join(folder, name);
  const found = stat(path, { throwIfNoEntry: false });
  if (found === undefined) throw new AdapterError(`the adapter has no ${name}`);
  if (!found.isFile()) throw new AdapterError(`${name} is not a regular file`);
  return path;
}

function architectureOf(base: GgufHeader): string {
  const architecture = textField(base, "general.architecture") ?? "";
  if (ARCHITECTURES.includes(architecture)) return architecture;
  throw new AdapterError(
    `adapters for architecture "${architecture}" cannot be converted; supported: ${ARCHITECTURES.join(", ")}`,
  );
}

function textField({ fields }: GgufHeader, key: string): string | undefined {
  const field = fields.get(key);
  return field === undefined ? undefined : textOf(field);
}

function count({ fields }: GgufHeader, key: string): number | undefined {
  const field = fields.get(key);
  return field === undefined ? undefined : unsigned(field);
}

function headsOf(base: GgufHeader, architecture: string): Heads {
  const query = count(base, `${architecture}.attention.head_count`) ?? 1;
  return { query, keyValue: count(base, `${architecture}.attention.head_count_kv`) ?? query };
}

/** Linear layers and embeddings name their factors differently; the shapes are the same. Files saved by hand name the adapter, too. */
const FACTOR =
  /^(?:base_model\.model\.)?(.+)\.lora_(?:(A|B)(?:\.[^.]+)?\.weight|embedding_(A|B)(?:\.[^.]+)?)$/;

function pairsOf({ tensors }: Safetensors): readonly Pair[] {
  const halves = new Map<string, { a?: SafeTensor; b?: SafeTensor }>();
  for (const tensor of tensors.values()) {
    const [, module, linear, embedding] = FACTOR.exec(tensor.name) ?? [];
    if (module === undefined) throw new AdapterError(`${tensor.name} is not a LoRA tensor`);
    if (tensor.shape.length !== 2) throw new AdapterError(`${tensor.name} is not a matrix`);
    const half = halves.get(module) ?? {};
    halves.set(module, half);
    if ((linear ?? embedding) === "A") half.a = tensor;
    else half.b = tensor;
  }
  if (halves.size === 0) throw new AdapterError(`${WEIGHTS_FILE} holds no tensors`);
  return [...halves].map(([module, { a, b }]) => {
    if (a === undefined || b === undefined) {
      throw new AdapterError(`${module} has only one of its two factors, lora_A and lora_B`);
    }
    return { module, a, b };
  });
}

interface ModelWords {
  readonly base: GgufHeader;
  readonly architecture: string;
  readonly heads: Heads;
  readonly config: LoraConfig;
}

/** A pair that fits a tensor of the model. */
interface Module extends FittingPair {
  readonly weights: Safetensors;
}

interface FittingPair extends Pair {
  readonly target: Target;
  readonly rank: number;
  readonly scale: number;
  /** Experts of the model, if this is a matrix of one. */
  readonly experts?: number;
}

function moduleOf(pair: Pair, { base, architecture, heads, config }: ModelWords): FittingPair {
  const { module, a, b } = pair;
  const [rank = 0, inputs = 0] = a.shape;
  const [outputs = 0, rankOfB] = b.shape;
  if (rank !== rankOfB)
    throw new AdapterError(`the factors of ${module} have different ranks, ${rank} and ${rankOfB}`);
  const scale = config.scaleOf(module, rank);
  const target = targetOf(module, architecture, heads);
  if (target === undefined && isAllExperts(module))
    throw new AdapterError(
      `${module} adapts all experts at once (target_parameters); only adapters with a module for each expert are supported`,
    );
  if (target === undefined)
    throw new AdapterError(`${module} is not an adaptable module of "${architecture}" models`);
  if (target.isLookup && !base.tensors.has("output.weight")) {
    throw new AdapterError(`${module} cannot be adapted: this model's embedding is also its output layer`);
  }
  const tensor = base.tensors.get(target.tensor);
  if (tensor === undefined)
    throw new AdapterError(`the model has no ${target.tensor}, which ${module} adapts`);
  const { shape } = tensor;
  const { expert } = target;
  if (expert !== undefined && expert >= (shape[2] ?? 1))
    throw new AdapterError(`the model has ${shape[2] ?? 1} experts, so there is no ${module}`);
  // The embedding is stored as [dimensions, tokens]; as a layer, it maps tokens to dimensions.
  const [first = 0, second = 0] = shape;
  const [wantedIn, wantedOut] = target.isLookup ? [second, first] : [first, second];
  if (inputs !== wantedIn || outputs !== wantedOut) {
    throw new AdapterError(
      `${module} is made for ${inputs} inputs and ${outputs} outputs, but this model's has ${wantedIn} and ${wantedOut}: ` +
        "the adapter belongs to another base model",
    );
  }
  return { ...pair, target, rank, scale, ...(expert === undefined ? {} : { experts: shape[2] ?? 1 }) };
}

/**
 * The two tensors of one weight's updates, as llama.cpp expects them. It multiplies by alpha ÷ rank, or by 1 if alpha is 0;
 * other scales are multiplied into B. Experts share one pair of tensors: those without an update have zeros.
 */
function tensorsOf(modules: readonly Module[], alpha: number): readonly Tensor[] {
  const [first] = modules;
  if (first === undefined) return [];
  const { isLookup, tensor: name } = first.target;
  const inputs = itemAt(first.a.shape, 1);
  const outputs = itemAt(first.b.shape, 0);
  const { experts } = first;
  const groups = Array.from({ length: experts ?? 1 }, (_, expert) =>
    experts === undefined ? modules : modules.filter(({ target }) => target.expert === expert),
  );
  const rank = Math.max(...groups.map((group) => sumOf(ranksOf(group))));
  const readA = (): Float32Array =>
    isLookup ? lookupRows(modules, inputs) : stacked(groups.map((group) => readInputs(group, rank * inputs)));
  const readB = (): Float32Array =>
    stacked(groups.map((group) => readOutputs(group, { alpha, rank, outputs })));
  const axis = experts === undefined ? [] : [experts];
  return [
    tensor(`${name}.lora_a`, isLookup ? [rank, inputs] : [inputs, rank, ...axis], readA),
    tensor(`${name}.lora_b`, [rank, outputs, ...axis], readB),
  ];
}

const ranksOf = (modules: readonly Module[]): readonly number[] => modules.map(({ rank }) => rank);
const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

/** The rows of A, filled up with zeros to a number of elements. */
function readInputs(modules: readonly Module[], elements: number): Float32Array {
  const out = new Float32Array(elements);
  let at = 0;
  for (const { weights, a } of modules) {
    const values = weights.read(a);
    out.set(values, at);
    at += values.length;
  }
  return out;
}

/** A of an embedding, whose rows are looked up. */
function lookupRows(modules: readonly Module[], inputs: number): Float32Array {
  const ranks = ranksOf(modules);
  const rows = modules.map(({ weights, a }, i) => transposed(weights.read(a), itemAt(ranks, i), inputs));
  return joinedColumns(rows, ranks, sumOf(ranks));
}

interface Outputs {
  readonly alpha: number;
  /** Rank of the tensor, which may exceed that of an expert. */
  readonly rank: number;
  readonly outputs: number;
}

/** The columns of B, filled up with zeros to the rank. */
function readOutputs(modules: readonly Module[], { alpha, rank, outputs }: Outputs): Float32Array {
  if (modules.length === 0) return new Float32Array(rank * outputs);
  const parts = modules.map(({ weights, b, rank: own, scale, target }) => {
    const values = scaled(weights.read(b), alpha === 0 ? scale : (scale * rank) / alpha);
    return target.permutedHeads === undefined ? values : permuteRows(values, own, target.permutedHeads);
  });
  return joinedColumns(parts, ranksOf(modules), rank);
}

/** Matrices one after the other. */
function stacked(matrices: readonly Float32Array[]): Float32Array {
  const [only] = matrices;
  if (only !== undefined && matrices.length === 1) return only;
  const out = new Float32Array(sumOf(matrices.map(({ length }) => length)));
  let at = 0;
  for (const matrix of matrices) {
    out.set(matrix, at);
    at += matrix.length;
  }
  return out;
}

/** Concatenates matrices with the same number of rows by columns; columns that are missing to the width are zeros. */
function joinedColumns(
  parts: readonly Float32Array[],
  columns: readonly number[],
  width: number,
): Float32Array {
  const [only] = parts;
  if (only !== undefined && parts.length === 1 && columns[0] === width) return only;
  const rows = itemAt(parts, 0).length / itemAt(columns, 0);
  const out = new Float32Array(rows * width);
  let at = 0;
  for (const [i, part] of parts.entries()) {
    const own = itemAt(columns, i);
    for (let row = 0; row < rows; row++) out.set(part.subarray(row * own, (row + 1) * own), row * width + at);
    at += own;
  }
  return out;
}

function tensor(name: string, shape: readonly number[], read: () => Float32Array): Tensor {
  return { name, shape, type: TENSOR.f32, chunks: () => [new Uint8Array(read().buffer)] };
}

function scaled(values: Float32Array, factor: number): Float32Array {
  return factor === 1 ? values : values.map((value) => value * factor);
}

function transposed(values: Float32Array, rows: number, columns: number): Float32Array {
  const out = new Float32Array(values.length);
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++)
      out[column * rows + row] = values[row * columns + column] ?? 0;
  return out;
}
