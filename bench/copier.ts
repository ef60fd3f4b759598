// Weights that copy: an induction head built by hand (Elhage et al. 2021, "A Mathematical Framework for Transformer
// Circuits"; Olsson et al. 2022, "In-context Learning and Induction Heads"). The first layer notes at each place which tokens
// stood before it; the second looks for the place that has the last few tokens before it, and answers with the token there.
// Every other layer computes as ever and adds nothing, so that a token costs what it costs in a model of the same shape.
//
// Each weight is a number times a selection, which loses next to nothing in a quantized file: a row has one value that is not
// 0, or one value in a whole block of 32.
//
// Knows nothing of files; model.ts writes them.

import { assert } from "../src/core/assert.ts";
import { TENSOR, type Tensor } from "../src/lora/gguf-write.ts";
import { wordSource } from "./random.ts";

/** What of a model's shape matters here. To copy, queries and keys are normed and the output matrix is the embeddings. */
export interface CopierShape {
  readonly embd: number;
  readonly layers: number;
  readonly heads: number;
  readonly kvHeads: number;
  /** To copy, 128: TURNING and STILL are about 64 pairs of dimensions. */
  readonly headDim: number;
  readonly ffn: number;
}

/** Pair `i` of a head's dimensions turns by ROPE_BASE ** (-i / pairs) a token. */
export const ROPE_BASE = 1e6;

/** Tokens that must stand before a place for it to be like the end. */
const BACK = 4;

/** Dimensions of a token by which one head of the second layer knows it. */
const MARKS = 12;

/** Pairs of dimensions, from the first, whose angle tells a distance exactly: the sum of their cosines is 0.87 at most, of 1. */
const TURNING = 10;

/** From this pair on nothing turns much over a thousand tokens: 2e-4 a token at most. */
const STILL = 40;

/** Dimensions of a block that is the same in each token; as long as a block of quantized weights. */
const CONSTANT = 32;

/** Of the norms of queries and keys. A perfect match is 25 * sqrt(128) = 283, and the rest of a softmax next to nothing. */
const SHARPNESS = 5;

/** How much louder the copied token is than the one it stands on. */
const LOUDNESS = 8;

/** Logit of the copied token; that of others is 0 with a deviation of 1/sqrt(dimensions of a token) of it. */
const LOGIT = 80;

/** Where what lies in the `embd` dimensions that pass through the layers. */
interface Places {
  /** Heads of the second layer, each of which copies `headDim` dimensions of a token. */
  readonly copying: number;
  /** Dimensions [0, token): each 1 or -1, by which tokens differ. */
  readonly token: number;
  /** Dimensions [constant, constant + CONSTANT): 1. */
  readonly constant: number;
  /** From here: BACK times what the first layer writes, the `copying * MARKS` marks of the token so many places before. */
  readonly marks: number;
}

function placesOf({ embd, headDim, kvHeads }: CopierShape): Places {
  const copying = Math.min(kvHeads, Math.floor((embd - CONSTANT) / (headDim + BACK * MARKS)));
  const token = copying * headDim;
  return { copying, token, constant: token, marks: token + CONSTANT };
}

/** The tensors that make a model of `shape` copy, in place of those of the same names; `tokens`: length of its vocabulary. */
export function copierTensors(shape: CopierShape, tokens: number): Tensor[] {
  const { embd, heads, headDim, ffn } = shape;
  assert(headDim === 128 && heads >= BACK, "the first layer has a head for each token before");
  const places = placesOf(shape);
  const tensors = [
    embeddings(tokens, embd, places),
    // The last norm makes the root of the mean square 1, and nearly all of it is the copied token's.
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
 * The first layer. Queries and keys are the same everywhere but for the turning: head `back - 1` is turned back by `back`
 * places, so that it looks at the token so many before. Its values are the marks of all copying heads.
 */
function noting(shape: CopierShape, places: Places): Tensor[] {
  const { embd, heads, kvHeads, headDim } = shape;
  const queries: Cell[] = [];
  const keys: Cell[] = [];
  const values: Cell[] = [];
  const out: Cell[] = [];
  const all = places.copying * MARKS;
  // What norm and values divide the marks by is given back here.
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
 * The second layer. The query is the last BACK tokens, the key the BACK tokens before a place, each by its marks, in the
 * dimensions that do not turn; the value is the token itself, `headDim` of its dimensions a head.
 */
function copying(shape: CopierShape, places: Places): Tensor[] {
  const { heads, kvHeads, headDim } = shape;
  const queries: Cell[] = [];
  const keys: Cell[] = [];
  const values: Cell[] = [];
  const out: Cell[] = [];
  const all = places.copying * MARKS;
  /** Where a mark of the token `back` places before stands. */
  const noted = (back: number, mark: number): number =>
    back === 0 ? tokenDimension(mark, headDim) : places.marks + (back - 1) * all + mark;
  for (let group = 0; group < places.copying; group++) {
    const head = (group * heads) / kvHeads; // of several heads with these keys, the first is used
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

/** Where in a token's dimensions a mark is: each copying head has its own in the dimensions it copies. */
function tokenDimension(mark: number, headDim: number): number {
  return Math.floor(mark / MARKS) * headDim + (mark % MARKS);
}

/** The dimensions of a head that do not turn, by number: the first halves of their pairs, then the second ones. */
function stillDimension(index: number, headDim: number): number {
  const pairs = headDim / 2 - STILL;
  return index < pairs ? STILL + index : headDim / 2 + STILL + (index - pairs);
}

/** A weight that is not 0. */
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

/** An f16 matrix [inputs, outputs] of zeros but for some cells. */
function selection(name: string, inputs: number, outputs: number, cells: readonly Cell[]): Tensor {
  const chunks = (): Uint8Array[] => {
    const values = new Float16Array(inputs * outputs);
    for (const [input, output, value] of cells) values[output * inputs + input] = value;
    return [new Uint8Array(values.buffer)];
  };
  return { name, shape: [inputs, outputs], type: TENSOR.f16, chunks };
}

/** An f32 vector of one value. */
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
