// Image models that are real but for their weights, which are chance: a Z-Image with one block of each kind, a Qwen3 with
// one layer as its text encoder and a tiny autoencoder. Sizes that the library reads from the weights are small; those it fixes are its own.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type FakeTensor, type FakeTensors, safetensors } from "./peft.ts";
import { tempDir } from "./tmp.ts";

const HIDDEN = 256;
const HEAD = 128;
const TEXT = 16;
const LATENT = 16;
const TAE = 64;

/** Numbers of a bell curve, the same at every run. */
function chance(seed: number): () => number {
  let state = seed;
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
  return () => Math.sqrt(-2 * Math.log(next() + 1e-12)) * Math.cos(2 * Math.PI * next());
}

/** Collects the tensors of a file. */
class Weights {
  readonly tensors: Record<string, FakeTensor> = {};
  private readonly random = chance(12_345);

  /** Without `deviation`, each output is as large as the inputs. */
  add(name: string, shape: readonly number[], deviation = 1 / Math.sqrt(inputs(shape))): void {
    const values = Float32Array.from({ length: product(shape) }, () => this.random() * deviation);
    this.tensors[name] = { shape, values };
  }

  fill(name: string, shape: readonly number[], value: number): void {
    this.tensors[name] = { shape, values: new Float32Array(product(shape)).fill(value) };
  }

  linear(name: string, from: number, to: number, deviation?: number): void {
    this.add(`${name}.weight`, [to, from], deviation);
    this.fill(`${name}.bias`, [to], 0);
  }

  convolution(name: string, from: number, to: number, hasBias = true): void {
    this.add(`${name}.weight`, [to, from, 3, 3]);
    if (hasBias) this.fill(`${name}.bias`, [to], 0);
  }
}

function product(shape: readonly number[]): number {
  return shape.reduce((all, size) => all * size, 1);
}

function inputs(shape: readonly number[]): number {
  return Math.max(1, product(shape.slice(1)));
}

/** One block of each kind. */
function zImage(): FakeTensors {
  const w = new Weights();
  w.linear("x_embedder", 4 * LATENT, HIDDEN);
  w.linear("t_embedder.mlp.0", 256, HIDDEN);
  w.linear("t_embedder.mlp.2", HIDDEN, 256);
  w.fill("cap_embedder.0.weight", [TEXT], 1);
  w.linear("cap_embedder.1", TEXT, HIDDEN);
  w.fill("cap_pad_token", [HIDDEN], 0);
  w.fill("x_pad_token", [HIDDEN], 0);
  for (const block of ["noise_refiner.0", "context_refiner.0", "layers.0"]) {
    w.add(`${block}.attention.qkv.weight`, [3 * HIDDEN, HIDDEN]);
    w.add(`${block}.attention.out.weight`, [HIDDEN, HIDDEN]);
    for (const norm of ["q_norm", "k_norm"]) w.fill(`${block}.attention.${norm}.weight`, [HEAD], 1);
    for (const name of ["w1", "w3"]) w.add(`${block}.feed_forward.${name}.weight`, [3 * HIDDEN, HIDDEN]);
    w.add(`${block}.feed_forward.w2.weight`, [HIDDEN, 3 * HIDDEN]);
    for (const norm of ["attention_norm1", "attention_norm2", "ffn_norm1", "ffn_norm2"]) {
      w.fill(`${block}.${norm}.weight`, [HIDDEN], 1);
    }
    if (block !== "context_refiner.0") w.linear(`${block}.adaLN_modulation.0`, 256, 4 * HIDDEN, 0.02);
  }
  w.linear("final_layer.linear", HIDDEN, 4 * LATENT);
  w.linear("final_layer.adaLN_modulation.1", 256, HIDDEN, 0.02);
  return w.tensors;
}

/** The text encoder, one layer. The library fixes heads and their size; the vocabulary is that of its tokenizer. */
function qwen3(): FakeTensors {
  const w = new Weights();
  w.add("model.embed_tokens.weight", [151_936, TEXT], 1);
  const block = "model.layers.0";
  w.add(`${block}.self_attn.q_proj.weight`, [32 * HEAD, TEXT]);
  for (const name of ["k_proj", "v_proj"]) w.add(`${block}.self_attn.${name}.weight`, [8 * HEAD, TEXT]);
  w.add(`${block}.self_attn.o_proj.weight`, [TEXT, 32 * HEAD]);
  for (const norm of ["q_norm", "k_norm"]) w.fill(`${block}.self_attn.${norm}.weight`, [HEAD], 1);
  for (const name of ["gate_proj", "up_proj"]) w.add(`${block}.mlp.${name}.weight`, [2 * TEXT, TEXT]);
  w.add(`${block}.mlp.down_proj.weight`, [TEXT, 2 * TEXT]);
  for (const norm of ["input_layernorm", "post_attention_layernorm"]) {
    w.fill(`${block}.${norm}.weight`, [TEXT], 1);
  }
  w.fill("model.norm.weight", [TEXT], 1);
  return w.tensors;
}

function tinyAutoencoder(): FakeTensors {
  const w = new Weights();
  const block = (at: string): void => {
    for (const layer of [0, 2, 4]) w.convolution(`${at}.conv.${layer}`, TAE, TAE);
  };
  let layer = 0;
  const decoder = (): string => `decoder.layers.${layer++}`;
  w.convolution(decoder(), LATENT, TAE);
  layer++; // activations and upsampling count as layers
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < 3; i++) block(decoder());
    layer++;
    w.convolution(decoder(), TAE, TAE, false);
  }
  block(decoder());
  w.convolution(decoder(), TAE, 3);
  layer = 0;
  const encoder = (): string => `encoder.layers.${layer++}`;
  w.convolution(encoder(), 3, TAE);
  block(encoder());
  for (let round = 0; round < 3; round++) {
    w.convolution(encoder(), TAE, TAE, false);
    for (let i = 0; i < 3; i++) block(encoder());
  }
  w.convolution(encoder(), TAE, LATENT);
  return w.tensors;
}

function under(prefix: string, tensors: FakeTensors): FakeTensors {
  return Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [`${prefix}${name}`, tensor]));
}

/** Paths of a model in parts, and of the same as a checkpoint that only lacks its autoencoder. */
export interface TinyImageModel {
  readonly checkpoint: string;
  readonly diffusion: string;
  readonly llm: string;
  readonly vae: string;
}

let written: TinyImageModel | undefined;

/** Written once for a test process; about 40 MB. */
export function tinyImageModel(): TinyImageModel {
  if (written !== undefined) return written;
  const dir = tempDir();
  const write = (name: string, tensors: FakeTensors): string => {
    const path = join(dir, `${name}.safetensors`);
    writeFileSync(path, safetensors(tensors));
    return path;
  };
  const [diffusion, encoder] = [zImage(), qwen3()];
  const checkpoint = {
    ...under("model.diffusion_model.", diffusion),
    ...under("text_encoders.llm.", encoder),
  };
  return (written = {
    checkpoint: write("tiny-checkpoint", checkpoint),
    diffusion: write("tiny-diffusion", diffusion),
    llm: write("tiny-llm", encoder),
    vae: write("tiny-vae", tinyAutoencoder()),
  });
}
