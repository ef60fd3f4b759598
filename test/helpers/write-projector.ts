// Writes projector files with random weights: an encoder of images, one of recordings, or both. For tests and benches.

import { uniformSource } from "../../bench/random.ts";
import { type Field, FIELD } from "../../src/core/gguf.ts";
import {
  boolField,
  f32Field,
  stringField,
  TENSOR,
  type Tensor,
  u32Field,
  writeGguf,
} from "../../src/lora/gguf-write.ts";

/** The size of an encoder. */
export interface Encoder {
  readonly width: number;
  readonly ffn: number;
  readonly heads: number;
  readonly layers: number;
}

/**
 * Of square images, one token a patch; or, `wide`, of images of any size, whose tokens (one for four patches) have
 * positions in two dimensions.
 */
export interface ImageEncoder extends Encoder {
  readonly edge: number;
  readonly patch: number;
  readonly wide?: boolean;
}

export interface Projector {
  /** Width of the model's embeddings. */
  readonly modelWidth: number;
  readonly images?: ImageEncoder;
  readonly sounds?: Encoder;
}

export const SOUND = { mels: 80, frames: 1500 } as const;
/** Tokens of each begun half minute of a recording: it is padded with silence. */
export const SOUND_TOKENS = SOUND.frames / 2;

export function f32sField(key: string, values: readonly number[]): Field {
  const head = Buffer.alloc(12);
  head.writeUInt32LE(FIELD.f32);
  head.writeBigUInt64LE(BigInt(values.length), 4);
  const bytes = Buffer.from(Float32Array.from(values).buffer);
  return { key, type: FIELD.array, raw: Buffer.concat([head, bytes]) };
}

export function encoderFields(kind: "vision" | "audio", encoder: Encoder, modelWidth: number): Field[] {
  const key = (suffix: string): string => `clip.${kind}.${suffix}`;
  return [
    u32Field(key("embedding_length"), encoder.width),
    u32Field(key("feed_forward_length"), encoder.ffn),
    u32Field(key("block_count"), encoder.layers),
    u32Field(key("attention.head_count"), encoder.heads),
    u32Field(key("projection_dim"), modelWidth),
    f32Field(key("attention.layer_norm_epsilon"), 1e-5),
  ];
}

function imageFields(encoder: ImageEncoder, modelWidth: number): Field[] {
  return [
    boolField("clip.has_vision_encoder", true),
    stringField("clip.vision.projector_type", encoder.wide === true ? "qwen2vl_merger" : "mlp"),
    ...encoderFields("vision", encoder, modelWidth),
    u32Field("clip.vision.image_size", encoder.edge),
    u32Field("clip.vision.patch_size", encoder.patch),
    f32sField("clip.vision.image_mean", [0.5, 0.5, 0.5]),
    f32sField("clip.vision.image_std", [0.5, 0.5, 0.5]),
  ];
}

function soundFields(encoder: Encoder, modelWidth: number): Field[] {
  return [
    boolField("clip.has_audio_encoder", true),
    stringField("clip.audio.projector_type", "qwen2a"),
    ...encoderFields("audio", encoder, modelWidth),
    u32Field("clip.audio.num_mel_bins", SOUND.mels),
  ];
}

let uniform = uniformSource(0);

export function tensor(name: string, shape: readonly number[], value: () => number): Tensor {
  const elements = shape.reduce((product, length) => product * length, 1);
  const values = Float32Array.from({ length: elements }, value);
  return { name, shape, type: TENSOR.f32, chunks: () => [new Uint8Array(values.buffer)] };
}

/** Weights that keep what goes through them at its size. */
export function random(name: string, ...shape: readonly number[]): Tensor {
  const inputs = shape.slice(0, -1).reduce((product, length) => product * length, 1);
  return tensor(name, shape, () => (2 * uniform() - 1) * Math.sqrt(3 / inputs));
}

export function norm(name: string, width: number): Tensor[] {
  return [tensor(`${name}.weight`, [width], () => 1), tensor(`${name}.bias`, [width], () => 0)];
}

export function linear(name: string, inputs: number, outputs: number): Tensor[] {
  return [random(`${name}.weight`, inputs, outputs), tensor(`${name}.bias`, [outputs], () => 0)];
}

export function half({ name, shape, chunks }: Tensor): Tensor {
  const halved = (bytes: Uint8Array): Uint8Array =>
    new Uint8Array(new Float16Array(new Float32Array(bytes.buffer as ArrayBuffer)).buffer);
  return { name, shape, type: TENSOR.f16, chunks: () => [...chunks()].map(halved) };
}

/** The layers of an encoder, each called `prefix` and its number. */
export function blocks(
  prefix: string,
  { width, ffn, layers }: Encoder,
  [up, down]: readonly [string, string],
): Tensor[] {
  return Array.from({ length: layers }, (_, layer) => `${prefix}.${layer}`).flatMap((name) => [
    ...["attn_q", "attn_k", "attn_v", "attn_out"].flatMap((part) => linear(`${name}.${part}`, width, width)),
    ...norm(`${name}.ln1`, width),
    ...norm(`${name}.ln2`, width),
    ...linear(`${name}.${up}`, width, ffn),
    ...linear(`${name}.${down}`, ffn, width),
  ]);
}

function pictureTensors(encoder: ImageEncoder, modelWidth: number): Tensor[] {
  const { width, edge, patch, wide = false } = encoder;
  const merged = wide ? 4 * width : width;
  const inner = wide ? merged : modelWidth;
  const whole = [
    random("v.class_embd", width),
    random("v.position_embd.weight", width, (edge / patch) ** 2 + 1),
    ...norm("v.pre_ln", width),
  ];
  return [
    random("v.patch_embd.weight", patch, patch, 3, width),
    ...(wide
      ? [random("v.patch_embd.weight.1", patch, patch, 3, width), ...norm("v.post_ln", width)]
      : whole),
    ...blocks("v.blk", encoder, ["ffn_down", "ffn_up"]), // the two are swapped in files of this kind
    ...linear("mm.0", merged, inner),
    ...linear("mm.2", inner, modelWidth),
  ];
}

function soundTensors(encoder: Encoder, modelWidth: number): Tensor[] {
  const { width } = encoder;
  const layers = blocks("a.blk", encoder, ["ffn_up", "ffn_down"]);
  return [
    half(random("a.conv1d.1.weight", 3, SOUND.mels, width)),
    tensor("a.conv1d.1.bias", [1, width], () => 0),
    half(random("a.conv1d.2.weight", 3, width, width)),
    tensor("a.conv1d.2.bias", [1, width], () => 0),
    random("a.position_embd.weight", width, SOUND.frames),
    ...layers.filter(({ name }) => !name.endsWith("attn_k.bias")),
    ...norm("a.post_ln", width),
    ...linear("mm.a.fc", width, modelWidth),
  ];
}

/** The weights are the same whenever the encoders are. */
export function writeProjector(path: string, { modelWidth, images, sounds }: Projector): void {
  uniform = uniformSource(11);
  const fields = [
    stringField("general.architecture", "clip"),
    stringField("general.type", "mmproj"),
    boolField("clip.use_gelu", true),
    ...(images === undefined ? [] : imageFields(images, modelWidth)),
    ...(sounds === undefined ? [] : soundFields(sounds, modelWidth)),
  ];
  const tensors = [
    ...(images === undefined ? [] : pictureTensors(images, modelWidth)),
    ...(sounds === undefined ? [] : soundTensors(sounds, modelWidth)),
  ];
  writeGguf(path, fields, tensors);
}
