// Bytes and multiply-adds of a pass of a model, from the header of its file. Only what no implementation can avoid: weights in the
// size that the file has, cells of the KV cache in f16, products. So it is a lower bound, exact for decoders with ordinary attention.

import { type Field, type GgufHeader, type TensorInfo, textOf, unsigned } from "./gguf.ts";
import { readGgufHeader } from "./gguf-file.ts";
import { elementsOf, tensorBytes } from "./gguf-facts.ts";
import { partPaths } from "./model-files.ts";

/** Weights of which a pass reads everything. */
interface Weights {
  readonly bytes: number;
  /** Multiply-adds of a row. */
  readonly products: number;
}

export interface ModelWork {
  /** Matrices of the layers that every row is multiplied with. */
  readonly shared: Weights;
  /** Experts, all together, and how many of them a row is multiplied with. */
  readonly experts: Weights & { readonly used: number; readonly count: number };
  /** The matrix of the output, for rows that choose a token. */
  readonly output: Weights;
  /** Attention of a row to a cell of the cache. */
  readonly cell: Weights;
  /** Most cells that layers with a sliding window see; undefined: all. */
  readonly window: number | undefined;
  /** Type of the weights with the most products, by its number in ggml.h. */
  readonly type: number;
}

const TOKENS = "token_embd.weight";
const OUTPUT = "output.weight";
/** Only rows of single tokens are read. */
const TABLES = new Set([TOKENS, "per_layer_token_embd.weight"]);
/** Of a value in the cache: f16. */
const CELL_VALUE_BYTES = 2;
const NOTHING: Weights = { bytes: 0, products: 0 };

/** Work of the model in a file, and in the other parts of a split one. Throws on anything that is not GGUF. */
export function readWork(path: string): ModelWork {
  return workOf(partPaths(path).map((part) => readGgufHeader(part)));
}

/** Work of a model by the headers of its parts. */
export function workOf(parts: readonly GgufHeader[]): ModelWork {
  const fields = parts[0]?.fields ?? new Map();
  const tensors = new Map(parts.flatMap((part) => [...part.tensors]));
  const architecture = field(fields, "general.architecture", textOf) ?? "";
  const number = (key: string): number | undefined => field(fields, `${architecture}.${key}`, unsigned);
  const layers = (number("block_count") ?? 0) - (number("nextn_predict_layers") ?? 0);
  const matrices = [...tensors.values()].filter(({ name, shape }) => shape.length > 1 && !TABLES.has(name));
  const ofLayers = matrices.filter(({ name }) => name !== OUTPUT && layerOf(name) < layers);
  const output = tensors.get(OUTPUT) ?? tensors.get(TOKENS);
  return {
    shared: sum(ofLayers.filter((tensor) => !isExpert(tensor)).map(weightOf)),
    experts: {
      ...sum(ofLayers.filter(isExpert).map(weightOf)),
      used: number("expert_used_count") ?? 1,
      count: number("expert_count") ?? 1,
    },
    output: output === undefined ? NOTHING : weightOf(output),
    cell: sum(ofLayers.map((tensor) => cellWork(tensor, tensors))),
    window: number("attention.sliding_window"),
    type: mainType(ofLayers),
  };
}

/** Rows that are computed together, of which `outputs` choose a token. */
interface Pass {
  readonly rows: number;
  readonly outputs: number;
  /** Cells that a row sees, on average, and those that are read at least once. */
  readonly seen: number;
  readonly read: number;
}

/** Bytes and multiply-adds of a pass. */
export function passWork(work: ModelWork, { rows, outputs, seen, read }: Pass) {
  const { shared, experts, output, cell, window = Infinity } = work;
  const share = experts.used / experts.count;
  // Each row chooses its experts by itself.
  const touched = 1 - (1 - share) ** rows;
  const last = outputs > 0 ? output.bytes : 0;
  return {
    bytes: shared.bytes + experts.bytes * touched + last + cell.bytes * Math.min(read, rows * window),
    products:
      rows * (shared.products + experts.products * share + cell.products * Math.min(seen, window)) +
      outputs * output.products,
  };
}

/** Bytes of weights that a pass of one row reads. */
export function weightBytes(work: ModelWork): number {
  return passWork(work, { rows: 1, outputs: 1, seen: 0, read: 0 }).bytes;
}

/** Of attention: keys and values that a layer adds to a cell, and the products of a row with them. */
function cellWork({ name, shape }: TensorInfo, tensors: GgufHeader["tensors"]): Weights {
  const [layer = ""] = /^blk\.\d+\./.exec(name) ?? [];
  const part = name.slice(layer.length);
  const outputs = shape[1] ?? 0;
  const heads = tensors.get(`${layer}attn_output.weight`)?.shape[0] ?? 0;
  // Latent attention: all heads share the values of a cell.
  if (part === "attn_k.weight" || part === "attn_kv_a_mqa.weight")
    return { bytes: outputs * CELL_VALUE_BYTES, products: heads };
  return part === "attn_v.weight" ? { bytes: outputs * CELL_VALUE_BYTES, products: heads } : NOTHING;
}

function weightOf(tensor: TensorInfo): Weights {
  return { bytes: tensorBytes(tensor) ?? 0, products: elementsOf(tensor.shape) };
}

function mainType(matrices: readonly TensorInfo[]): number {
  const products = new Map<number, number>();
  for (const { type, shape } of matrices) products.set(type, (products.get(type) ?? 0) + elementsOf(shape));
  return [...products].toSorted(([, a], [, b]) => b - a)[0]?.[0] ?? 0;
}

function layerOf(name: string): number {
  return Number(/^blk\.(\d+)\./.exec(name)?.[1] ?? 0);
}

function isExpert({ name }: TensorInfo): boolean {
  return name.endsWith("_exps.weight");
}

function sum(list: readonly Weights[]): Weights {
  return list.reduce((a, b) => ({ bytes: a.bytes + b.bytes, products: a.products + b.products }), NOTHING);
}

function field<T>(fields: GgufHeader["fields"], key: string, read: (field: Field) => T): T | undefined {
  const found = fields.get(key);
  return found && read(found);
}
