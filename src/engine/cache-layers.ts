// What the memory of a model keeps of tokens and of sequences, layer by layer, from the metadata of its file. A lower bound: layers of
// a kind that is not known here count as nothing.

import { unreachable } from "../core/assert.ts";
import { type CacheType, cellBytes } from "../core/cache-size.ts";
import { type Field, FIELD, GgufProblem, int32Array, textOf, unsigned } from "../core/gguf.ts";
import { LAYERS_MAX } from "../core/limits.ts";

/** Metadata of a GGUF file by key. */
export type Metadata = ReadonlyMap<string, Field>;

export interface CacheLayers {
  /** Elements of a token's keys and values in layers that keep all tokens, and in those with a sliding window. */
  readonly full: number;
  readonly windowed: number;
  /** Tokens. */
  readonly window: number;
  /** Elements of a sequence's state in recurrent layers. */
  readonly state: number;
}

/** What decides the size beside the model. */
export interface CacheSizes {
  readonly cells: number;
  readonly maxSeqs: number;
  readonly ubatch: number;
  readonly cacheType: CacheType;
}

/**
 * Layers with a window between two that keep all tokens, plus one, of files that do not say it (llama.cpp: load_swa_pattern).
 * `first`: the first layer keeps all tokens instead of the last one of each group. 0: no layer does.
 */
const WINDOW_PERIODS: Readonly<Record<string, { readonly period: number; readonly first?: true }>> = {
  afmoe: { period: 4 },
  cohere2: { period: 4 },
  cohere2moe: { period: 4, first: true },
  "exaone-moe": { period: 4 },
  exaone4: { period: 4 },
  gemma2: { period: 2 },
  gemma3: { period: 6 },
  "gpt-oss": { period: 2 },
  lfm2: { period: 0 },
  lfm2moe: { period: 0 },
  olmo2: { period: 4 },
  plamo3: { period: 8 },
  smallthinker: { period: 4, first: true },
};
/** Cells of windows are rounded up to this number. */
const WINDOW_STEP = 256;
/** States are kept as F32. */
const STATE_BYTES = 4;
/**
 * Architectures with a state: in all layers instead of attention, or beside it; in those without key-value heads; or in all but one of
 * each interval.
 */
const RECURRENT: Readonly<Record<string, "all" | "beside" | "without heads" | "interval">> = {
  "falcon-h1": "beside",
  granitehybrid: "without heads",
  jamba: "without heads",
  lfm2: "without heads",
  lfm2moe: "without heads",
  mamba: "all",
  mamba2: "all",
  nemotron_h: "without heads",
  nemotron_h_moe: "without heads",
  qwen35: "interval",
  qwen35moe: "interval",
  qwen3next: "interval",
  rwkv6: "all",
  rwkv7: "all",
};
/** Keys of layers that keep less than all tokens; what architectures that are not listed make of them is not known here. */
const KEEPS_LESS = ["attention.sliding_window", "ssm.state_size", "wkv.head_size"];

/** Bytes of a cache with that many cells. */
export function cacheBytes(layers: CacheLayers, { cells, maxSeqs, ubatch, cacheType }: CacheSizes): number {
  const { full, windowed, window, state } = layers;
  const needed = Math.ceil((window * maxSeqs + ubatch) / WINDOW_STEP) * WINDOW_STEP;
  const bytes = (elements: number): number =>
    elements === 0 ? 0 : cellBytes({ elements, trainedContext: 0 }, cacheType);
  return cells * bytes(full) + Math.min(cells, needed) * bytes(windowed) + maxSeqs * state * STATE_BYTES;
}

/** The values of one architecture's keys. */
interface Facts {
  readonly architecture: string;
  readonly number: (key: string) => number | undefined;
  /** The value of a layer: of a number the same for all layers. */
  readonly ofLayer: (key: string, layer: number) => number | undefined;
}

function factsOf(metadata: Metadata): Facts {
  const name = metadata.get("general.architecture");
  const architecture = (name === undefined ? undefined : textOf(name)) ?? "";
  const number = (key: string): number | undefined => {
    const field = metadata.get(`${architecture}.${key}`);
    return field === undefined || field.type === FIELD.array ? undefined : unsigned(field);
  };
  const lists = new Map<string, Int32Array | undefined>();
  const list = (key: string): Int32Array | undefined => {
    const field = metadata.get(`${architecture}.${key}`);
    if (!lists.has(key)) lists.set(key, field?.type === FIELD.array ? listOf(field) : undefined);
    return lists.get(key);
  };
  return {
    architecture,
    number,
    ofLayer: (key, layer) => {
      const values = list(key);
      return values === undefined ? number(key) : (values[layer] ?? 0);
    },
  };
}

/** Numbers, or truth values as 0 and 1; undefined for lists of other things. */
function listOf(field: Field): Int32Array | undefined {
  const head = new DataView(field.raw.buffer, field.raw.byteOffset, 12);
  if (head.getUint32(0, true) === FIELD.bool) return Int32Array.from(field.raw.subarray(12));
  try {
    return int32Array(field);
  } catch (error) {
    if (error instanceof GgufProblem) return undefined;
    throw error;
  }
}

export function cacheLayers(metadata: Metadata): CacheLayers {
  const facts = factsOf(metadata);
  const { architecture, number } = facts;
  const layers = Math.min(LAYERS_MAX, (number("block_count") ?? 0) - (number("nextn_predict_layers") ?? 0));
  const hasWindows = architecture in WINDOW_PERIODS;
  const window = hasWindows ? (number("attention.sliding_window") ?? 0) : 0;
  const isKnown = hasWindows || architecture in RECURRENT;
  if (isEncoder(metadata) || (!isKnown && KEEPS_LESS.some((key) => (number(key) ?? 0) > 0)))
    return { full: 0, windowed: 0, window: 0, state: 0 };
  const sums = { full: 0, windowed: 0, state: 0 };
  for (let layer = 0; layer < layers; layer++) {
    if (isFeedForward(facts, layer)) continue;
    const hasState = isRecurrent(facts, layer);
    if (hasState) sums.state += stateElements(facts);
    if (hasState && RECURRENT[architecture] !== "beside") continue;
    const windowed = window > 0 && hasWindow(facts, layer);
    sums[windowed ? "windowed" : "full"] += tokenElements(facts, layer, windowed);
  }
  return { ...sums, window };
}

/** The encoders have no cache. */
export function isEncoder(metadata: Metadata): boolean {
  return [...metadata].some(([key, { raw }]) => key.endsWith(".attention.causal") && raw[0] === 0);
}

/** A file lists the layers, or says the period, or neither. */
function hasWindow({ architecture, number, ofLayer }: Facts, layer: number): boolean {
  const key = "attention.sliding_window_pattern";
  const { period: usual = 1, first } = WINDOW_PERIODS[architecture] ?? {};
  const period = number(key);
  const listed = period === undefined ? ofLayer(key, layer) : undefined;
  if (listed !== undefined) return listed !== 0;
  const every = period ?? usual;
  return every === 0 || (first === true ? layer % every !== 0 : layer % every < every - 1);
}

/** Nemotron has layers of a network alone. */
function isFeedForward({ architecture, ofLayer }: Facts, layer: number): boolean {
  return architecture.startsWith("nemotron_h") && ofLayer("feed_forward_length", layer) !== 0;
}

function isRecurrent(facts: Facts, layer: number): boolean {
  const { architecture, number, ofLayer } = facts;
  const kind = RECURRENT[architecture];
  switch (kind) {
    case undefined:
      return false;
    case "all":
    case "beside":
      return true;
    case "without heads": {
      return ofLayer("attention.head_count_kv", layer) === 0 && !isFeedForward(facts, layer);
    }
    case "interval": {
      const listed = ofLayer("attention.recurrent_layers", layer);
      if (listed !== undefined) return listed !== 0;
      return (layer + 1) % (number("full_attention_interval") ?? 4) !== 0;
    }
    default:
      return unreachable(kind);
  }
}

/** llama_hparams::n_embd_r and n_embd_s, of the kinds that are known. */
function stateElements({ architecture, number }: Facts): number {
  const width = number("embedding_length") ?? 0;
  if (architecture.startsWith("rwkv"))
    return width * ((number("wkv.head_size") ?? 0) + (number("token_shift_count") ?? 2));
  if (architecture.startsWith("lfm2")) return width * Math.max(0, (number("shortconv.l_cache") ?? 0) - 1);
  const [inner, size] = [number("ssm.inner_size") ?? 0, number("ssm.state_size") ?? 0];
  const kernel = Math.max(0, (number("ssm.conv_kernel") ?? 0) - 1);
  return kernel * (inner + 2 * (number("ssm.group_count") ?? 0) * size) + inner * size;
}

function tokenElements({ number, ofLayer }: Facts, layer: number, windowed: boolean): number {
  const heads = ofLayer("attention.head_count", layer) ?? 0;
  if (heads === 0) return 0;
  const width = Math.floor((number("embedding_length") ?? 0) / heads);
  const own = (part: "key" | "value"): number =>
    (windowed ? number(`attention.${part}_length_swa`) : undefined) ??
    number(`attention.${part}_length`) ??
    width;
  // Compressed keys contain the values.
  const isCompressed = (number("attention.key_length_mla") ?? 0) > 0;
  return (
    (ofLayer("attention.head_count_kv", layer) ?? heads) * (own("key") + (isCompressed ? 0 : own("value")))
  );
}
