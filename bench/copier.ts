// Weights that copy: an induction head built by hand (Elhage et al. 2021, "A Mathematical Framework for Transformer
// Circuits"; Olsson et al. 2022, "In-context Learning and Induction Heads"). The first layer writes the preceding tokens to each
// position; the second attends to the position that is preceded by the last few tokens, and outputs the token there. All other
// layers are computed but add nothing, so a token costs as much as in a model of the same shape.
//
// Weights are scaled selections, which lose almost nothing by quantization: a row has one non-zero value, or one value in a
// whole block of 32.
//
// Knows nothing of files; model.ts writes them.

import { assert } from "../src/core/assert.ts";
import { TENSOR, type Tensor } from "../src/lora/gguf-write.ts";
import { wordSource } from "./random.ts";

/** Required shape. Queries and keys must be normed, and the output matrix tied to the embeddings. */
export interface CopierShape {
  readonly embd: number;
  readonly layers: number;
  readonly heads: number;
  readonly kvHeads: number;
  /** Must be 128: TURNING and STILL assume 64 pairs of dimensions. */
  readonly headDim: number;
  readonly ffn: number;
}

/** RoPE rotates pair `i` of a head's dimensions by ROPE_BASE ** (-i / pairs) per token. */
export const ROPE_BASE = 1e6;

/** Number of preceding tokens that must match. */
const BACK = 4;

/** Dimensions by which one head of the second layer identifies a token. */
const MARKS = 12;

/** Leading pairs whose rotation identifies a distance exactly: for other distances the mean cosine is at most 0.87 of 1. */
const TURNING = 10;

/** From this pair on, rotation is negligible over 1,000 tokens: at most 2e-4 per token. */
const STILL = 40;

/** Dimensions of a constant block of each token; the length of a block of quantized weights. */
const CONSTANT = 32;

/** Weight of the norms of queries and keys. A perfect match scores 25 * sqrt(128) = 283, which dominates the softmax. */
const SHARPNESS = 5;

/** Ratio of the copied token to the current one in the residual stream. */
const LOUDNESS = 8;

/** Logit of the copied token; others have mean 0 and a standard deviation of 1/sqrt(dimensions of a token) of it. */
const LOGIT = 80;

/** Layout of the `embd` dimensions of the residual stream. */
interface Places {
  /** Heads of the second layer, each of which copies `headDim` dimensions of a token. */
  readonly copying: number;
  /** Dimensions [0, token): 1 or -1, the identity of the token. */
  readonly token: number;
  /** Dimensions [constant, constant + CONSTANT): 1. */
  readonly constant: number;
  /** From here: output of the first layer, for each of BACK offsets the `copying * MARKS` marks of the token at that offset. */
  readonly marks: number;
}

function placesOf({ embd, headDim, kvHeads }: CopierShape): Places {
  const copying = Math.min(kvHeads, Math.floor((embd - CONSTANT) / (headDim + BACK * MARKS)));
  const token = copying * headDim;
  return { copying, token, constant: token, marks: token + CONSTANT };
}

/** Tensors that make a model of `shape` copy; they replace those of the same names. `tokens`: size of the vocabulary. */
export function copierTensors(shape: CopierShape, tokens: number): Tensor[] {
  const { embd, heads, headDim, ffn } = shape;
  assert(
    headDim === 128 && heads >= BACK,
    "the first layer needs headDim 128 and a head for each preceding token",
  );
  const places = placesOf(shape);
  const tensors = [
    embeddings(tokens, embd, places),
    // The last norm scales the RMS to 1, nearly all of it from the copied token.
    vector("output_norm.weight", embd, LOGIT / Math.sqrt(embd * places.token)),
    ...noting(shape, places),
    ...copying(shape, places),
  ];
  for (let layer = 0; layer < shape.layers; layer++) {
    tensors.push(selection(`blk.${layer}.ffn_down.weight`, ffn, embd, []));
    if (layer > 1) tensors.push(selection(`blk.${layer}.attn_output.weight`, heads * headDim, embd, []));
  }
  return tensors;
}

/**
 * The first layer. Queries and keys are constant except for RoPE: head `back - 1` is rotated back by `back` positions, so it
 * attends to the token at that offset. Its values are the marks of all copying heads.
 */
function noting(shape: CopierShape, places: Places): Tensor[] {
  const { embd, heads, kvHeads, headDim } = shape;
  const queries: Cell[] = [];
  const keys: Cell[] = [];
  const values: Cell[] = [];
  const out: Cell[] = [];
  const all = places.copying * MARKS;
  // Undoes the scaling by norm and values.
  const rms = Math.sqrt((places.token + CONSTANT) / embd);
  for (let back = 1; back <= BACK; back++) {
    const head = back - 1;
    const group = Math.floor((head * kvHeads) / heads);
    for (let pair = 0; pair < TURNING; pair++) {
      const angle = -back * ROPE_BASE ** (-pair / (headDim / 2));
      for (let i = places.constant; i < places.constant + CONSTANT; i++) {
        queries.push([i, head * headDim + pair, Math.cos(angle)]);
        queries.push([i, head * headDim + pair + headDim / 2, Math.sin(angle)]);
        keys.push([i, group * headDim + pair, 1]);
      }
    }
    for (let mark = 0; mark < all; mark++) {
      values.push([tokenDimension(mark, headDim), group * headDim + mark, 1]);
      out.push([head * headDim + mark, places.marks + head * all + mark, rms]);
    }
  }
  return attention("blk.0.", shape, { queries, keys, values, out });
}

/**
 * The second layer. The query is the marks of the last BACK tokens, the key those of the BACK tokens before a position, in the
 * dimensions without rotation; the value is the token itself, `headDim` of its dimensions per head.
 */
function copying(shape: CopierShape, places: Places): Tensor[] {
  const { heads, kvHeads, headDim } = shape;
  const queries: Cell[] = [];
  const keys: Cell[] = [];
  const values: Cell[] = [];
  const out: Cell[] = [];
  const all = places.copying * MARKS;
  /** Dimension of a mark of the token at offset `back`. */
  const noted = (back: number, mark: number): number =>
    back === 0 ? tokenDimension(mark, headDim) : places.marks + (back - 1) * all + mark;
  for (let group = 0; group < places.copying; group++) {
    const head = (group * heads) / kvHeads; // the first of the heads that share these keys
    for (let back = 0; back < BACK; back++) {
      for (let mark = 0; mark < MARKS; mark++) {
        const dimension = stillDimension(back * MARKS + mark, headDim);
        queries.push([noted(back, group * MARKS + mark), head * headDim + dimension, 1]);
        keys.push([noted(back + 1, group * MARKS + mark), group * headDim + dimension, 1]);
      }
    }
    for (let i = 0; i < headDim; i++) {
      values.push([group * headDim + i, group * headDim + i, 1]);
      out.push([head * headDim + i, group * headDim + i, LOUDNESS]);
    }
  }
  return attention("blk.1.", shape, { queries, keys, values, out });
}

/** Dimension of a mark in a token: each copying head uses marks among the dimensions that it copies. */
function tokenDimension(mark: number, headDim: number): number {
  return Math.floor(mark / MARKS) * headDim + (mark % MARKS);
}

/** Indices of a head's dimensions without rotation: the first halves of their pairs, then the second. */
function stillDimension(index: number, headDim: number): number {
  const pairs = headDim / 2 - STILL;
  return index < pairs ? STILL + index : headDim / 2 + STILL + (index - pairs);
}

/** A non-zero weight. */
type Cell = readonly [input: number, output: number, value: number];

interface Attention {
  readonly queries: readonly Cell[];
  readonly keys: readonly Cell[];
  readonly values: readonly Cell[];
  readonly out: readonly Cell[];
}

function attention(block: string, shape: CopierShape, { queries, keys, values, out }: Attention): Tensor[] {
  const { embd, heads, kvHeads, headDim } = shape;
  return [
    selection(`${block}attn_q.weight`, embd, heads * headDim, queries),
    selection(`${block}attn_k.weight`, embd, kvHeads * headDim, keys),
    selection(`${block}attn_v.weight`, embd, kvHeads * headDim, values),
    selection(`${block}attn_output.weight`, heads * headDim, embd, out),
    vector(`${block}attn_q_norm.weight`, headDim, SHARPNESS),
    vector(`${block}attn_k_norm.weight`, headDim, SHARPNESS),
  ];
}

/** A sparse f16 matrix [inputs, outputs]. */
function selection(name: string, inputs: number, outputs: number, cells: readonly Cell[]): Tensor {
  const chunks = (): Uint8Array[] => {
    const values = new Float16Array(inputs * outputs);
    for (const [input, output, value] of cells) values[output * inputs + input] = value;
    return [new Uint8Array(values.buffer)];
  };
  return { name, shape: [inputs, outputs], type: TENSOR.f16, chunks };
}

/** A constant f32 vector. */
function vector(name: string, length: number, value: number): Tensor {
  const bytes = new Uint8Array(new Float32Array(length).fill(value).buffer);
  return { name, shape: [length], type: TENSOR.f32, chunks: () => [bytes] };
}

/** The f16 embeddings [embd, tokens], which are the output matrix too. */
function embeddings(tokens: number, embd: number, places: Places): Tensor {
  const [one] = new Uint16Array(Float16Array.of(1).buffer);
  const sign = 0x8000;
  function* chunks(): Generator<Uint8Array> {
    const next = wordSource(1);
    const row = new Uint16Array(embd).fill(one ?? 0, places.constant, places.constant + CONSTANT); // f16 bits
    for (let token = 0; token < tokens; token++) {
      for (let i = 0; i < places.token; i++) row[i] = (one ?? 0) | (next() & sign);
      yield new Uint8Array(row.slice().buffer);
    }
  }
  return { name: "token_embd.weight", shape: [embd, tokens], type: TENSOR.f16, chunks };
}
