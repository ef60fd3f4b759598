// Parts that files of several projector types share: encoders and layers with random weights, as small as llama.cpp takes them.

import type { Field } from "../../src/core/gguf.ts";
import { type Tensor, u32Field } from "../../src/lora/gguf-write.ts";
import {
  blocks,
  type Encoder,
  half,
  linear,
  norm,
  random,
  SOUND,
  tensor,
} from "../helpers/write-projector.ts";

/** Widths of the encoder, of a projector's inner layer, and of the built-in model. */
export const W = 32;
export const H = 48;
export const M = 256;
export const EDGE = 32;
export const PATCH = 8;
const PATCHES = (EDGE / PATCH) ** 2;
export const ENCODER = { width: W, ffn: 64, heads: 2, layers: 2 } as const;

export type Medium = "image" | "audio";

export interface ProjectorType {
  readonly type: string;
  readonly medium: Medium;
  /** Models that come with it. */
  readonly of: string;
  /** Needs a text model with positions in several dimensions. */
  readonly isWide?: boolean;
  /** Control tokens that the text model must have. */
  readonly controls?: readonly string[];
  /** Side of its images, and of their patches, pixels; absent: EDGE, PATCH. */
  readonly edge?: number;
  readonly patch?: number;
  /** Absent: ENCODER. */
  readonly encoder?: Encoder;
  /** Width of each of several outputs that are put together; absent: M. */
  readonly outputs?: number;
  /** Of the layers; absent: "gelu". */
  readonly activation?: "silu";
  readonly fields?: readonly Field[];
  /** Why it cannot pass with a tiny text model, or in this release of llama.cpp. */
  readonly fails?: string;
  readonly tensors: () => readonly Tensor[];
}

export const vision = (name: string, value: number): Field => u32Field(`clip.vision.${name}`, value);
export const audio = (name: string, value: number): Field => u32Field(`clip.audio.${name}`, value);
export const merge = (side: number): Field => vision("projector.scale_factor", side);
export const pixels = [vision("image_min_pixels", 1024), vision("image_max_pixels", 4096)];

export const weight = (name: string, ...shape: readonly number[]): Tensor =>
  random(`${name}.weight`, ...shape);
export const ones = (name: string, ...shape: readonly number[]): Tensor => tensor(name, shape, () => 1);
export const zeros = (name: string, ...shape: readonly number[]): Tensor => tensor(name, shape, () => 0);
/** A convolution; its bias has one value a channel. */
export const convolution = (name: string, ...shape: readonly number[]): readonly Tensor[] => [
  weight(name, ...shape),
  zeros(`${name}.bias`, shape.at(-1) ?? 0),
];
export const without = (tensors: readonly Tensor[], end: RegExp): readonly Tensor[] =>
  tensors.filter(({ name }) => !end.test(name));
export const each = (layers: number, of: (layer: number) => readonly Tensor[]): readonly Tensor[] =>
  Array.from({ length: layers }, (_, layer) => of(layer)).flat();
export const twoLinear = (one: string, two: string, inputs: number, inner: number): readonly Tensor[] => [
  ...linear(one, inputs, inner),
  ...linear(two, inner, M),
];

/** An encoder of images without its projector. */
export function encoder(
  extra: { readonly positions?: number; readonly isClass?: boolean; readonly of?: Encoder } = {},
): readonly Tensor[] {
  const { positions = PATCHES, isClass = false, of = ENCODER } = extra;
  return [
    ...(isClass ? [random("v.class_embd", of.width)] : []),
    ...(positions === 0 ? [] : [weight("v.position_embd", of.width, positions)]),
    weight("v.patch_embd", PATCH, PATCH, 3, of.width),
    zeros("v.patch_embd.bias", of.width),
    ...blocks("v.blk", of, ["ffn_up", "ffn_down"]),
    ...norm("v.post_ln", of.width),
  ];
}

/** One with a token for the whole image. */
export const withClass = (): readonly Tensor[] => encoder({ positions: PATCHES + 1, isClass: true });

/** Two-part patches, for frames of videos. */
export const second = (): Tensor => random("v.patch_embd.weight.1", PATCH, PATCH, 3, W);

/** Gates of the layers' feed-forward parts. */
export const gates = (): readonly Tensor[] =>
  each(2, (layer) => linear(`v.blk.${layer}.ffn_gate`, W, ENCODER.ffn));

/** Layers with one matrix for queries, keys and values. */
export function fused(tensors: readonly Tensor[]): readonly Tensor[] {
  const others = without(tensors, /attn_[qkv]\.(?:weight|bias)$/);
  return [...others, ...each(2, (layer) => linear(`v.blk.${layer}.attn_qkv`, W, 3 * W))];
}

/** Layers of an encoder of sounds. */
export const soundLayers = (of: Encoder = ENCODER): readonly Tensor[] =>
  blocks("a.blk", of, ["ffn_up", "ffn_down"]);

/** Whisper's encoder without its projector. */
export function whisper(of: Encoder = ENCODER): readonly Tensor[] {
  return [
    half(random("a.conv1d.1.weight", 3, SOUND.mels, W)),
    zeros("a.conv1d.1.bias", 1, W),
    half(random("a.conv1d.2.weight", 3, W, W)),
    zeros("a.conv1d.2.bias", 1, W),
    weight("a.position_embd", W, SOUND.frames),
    ...without(soundLayers(of), /attn_k\.bias$/),
    ...norm("a.post_ln", W),
  ];
}

/** A spectrogram's convolutions, each of which halves both its sides, and what makes an encoder's input of them. */
export const spectrogram = (): readonly Tensor[] => [
  ...convolution("a.conv2d.1", 3, 3, 1, W),
  ...convolution("a.conv2d.2", 3, 3, W, W),
  ...convolution("a.conv2d.3", 3, 3, W, W),
  weight("a.conv_out", (SOUND.mels / 8) * W, W),
];

/** What a layer of a conformer has beside that of a transformer; its convolution sees so many frames. */
export function conformerLayers(kernel: number): readonly Tensor[] {
  return each(ENCODER.layers, (layer) => {
    const at = `a.blk.${layer}`;
    return [
      ...norm(`${at}.ffn_norm`, W),
      ...norm(`${at}.ffn_norm_1`, W),
      ...linear(`${at}.ffn_up_1`, W, ENCODER.ffn),
      ...linear(`${at}.ffn_down_1`, ENCODER.ffn, W),
      ...norm(`${at}.norm_conv`, W),
      ...norm(`${at}.conv_norm`, W),
      ...linear(`${at}.conv_pw1`, W, 2 * W),
      ...linear(`${at}.conv_pw2`, W, W),
      weight(`${at}.conv_dw`, kernel, W),
      zeros(`${at}.conv_dw.bias`, W),
    ];
  });
}

/** Positions of a conformer that are relative to one another, of this width. */
export const relativePositions = (width: number): readonly Tensor[] =>
  each(ENCODER.layers, (layer) => {
    const at = `a.blk.${layer}`;
    const head = [W / ENCODER.heads, ENCODER.heads] as const;
    return [
      weight(`${at}.linear_pos`, width, W),
      random(`${at}.pos_bias_u`, ...head),
      random(`${at}.pos_bias_v`, ...head),
    ];
  });

/** Convolutions that halve a spectrogram's sides three times, partly by channel. */
export function subsampling(): readonly Tensor[] {
  const channels = 8;
  const layer = (at: number, ...shape: readonly number[]): readonly Tensor[] => [
    weight(`a.conv1d.${at}`, ...shape, channels),
    zeros(`a.conv1d.${at}.bias`, 1, 1, channels),
  ];
  return [
    ...layer(0, 3, 3, 1),
    ...layer(2, 3, 3, 1),
    ...layer(3, 1, 1, channels),
    ...layer(5, 3, 3, 1),
    ...layer(6, 1, 1, channels),
    ...linear("a.pre_encode.out", (SOUND.mels / 8) * channels, W),
  ];
}

/** A layer in which queries look at an encoder's output. */
export function queryLayer(name: string, width: number): readonly Tensor[] {
  const attention = ["self_attn", "cross_attn"].flatMap((part) => [
    ...["q", "k", "v", "out"].flatMap((matrix) => linear(`${name}.${part}_${matrix}`, width, width)),
    ...norm(`${name}.${part}_norm`, width),
  ]);
  return [
    ...attention,
    ...linear(`${name}.ffn_up`, width, H),
    ...linear(`${name}.ffn_down`, H, width),
    ...norm(`${name}.ffn_norm`, width),
  ];
}
