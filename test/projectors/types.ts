// Projector types that llama.cpp's mtmd loads, each as a file with random weights as small as it takes them: hyperparameters and
// tensors as clip.cpp of the locked release reads them. What is not built has its reason.

import type { Field } from "../../src/core/gguf.ts";
import {
  boolField,
  int32sField,
  stringField,
  type Tensor,
  u32Field,
  writeGguf,
} from "../../src/lora/gguf-write.ts";
import {
  blocks,
  encoderFields,
  f32sField,
  half,
  linear,
  norm,
  random,
  SOUND,
  tensor,
} from "../helpers/write-projector.ts";

/** Widths of the encoder, of a projector's inner layer, and of the built-in model. */
const W = 32;
const H = 48;
const M = 256;
const EDGE = 32;
const PATCH = 8;
const PATCHES = (EDGE / PATCH) ** 2;
const ENCODER = { width: W, ffn: 64, heads: 2, layers: 2 } as const;

export type Medium = "image" | "audio";

export interface ProjectorType {
  readonly type: string;
  readonly medium: Medium;
  /** Models that come with it. */
  readonly of: string;
  /** Needs a text model with positions in several dimensions. */
  readonly isWide?: boolean;
  /** Side of its images, pixels; absent: EDGE. */
  readonly edge?: number;
  readonly fields?: readonly Field[];
  /** Why it cannot pass with a tiny text model, or in this release of llama.cpp. */
  readonly fails?: string;
  readonly tensors: () => readonly Tensor[];
}

const vision = (name: string, value: number): Field => u32Field(`clip.vision.${name}`, value);
const audio = (name: string, value: number): Field => u32Field(`clip.audio.${name}`, value);
const merge = (side: number): Field => vision("projector.scale_factor", side);
const pixels = [vision("image_min_pixels", 1024), vision("image_max_pixels", 4096)];
const weight = (name: string, ...shape: readonly number[]): Tensor => random(`${name}.weight`, ...shape);
const without = (tensors: readonly Tensor[], end: RegExp): readonly Tensor[] =>
  tensors.filter(({ name }) => !end.test(name));

/** An encoder of images without its projector. */
function encoder(extra: { readonly positions?: number; readonly isClass?: boolean } = {}): readonly Tensor[] {
  const { positions = PATCHES, isClass = false } = extra;
  return [
    ...(isClass ? [random("v.class_embd", W)] : []),
    ...(positions === 0 ? [] : [weight("v.position_embd", W, positions)]),
    weight("v.patch_embd", PATCH, PATCH, 3, W),
    tensor("v.patch_embd.bias", [W], () => 0),
    ...blocks("v.blk", ENCODER, ["ffn_up", "ffn_down"]),
    ...norm("v.post_ln", W),
  ];
}

/** Two-part patches, for frames of videos. */
const second = (): Tensor => random("v.patch_embd.weight.1", PATCH, PATCH, 3, W);
const twoLinear = (one: string, two: string, inputs: number, inner: number): readonly Tensor[] => [
  ...linear(one, inputs, inner),
  ...linear(two, inner, M),
];

/** Whisper's encoder without its projector. */
function whisper(): readonly Tensor[] {
  return [
    half(random("a.conv1d.1.weight", 3, SOUND.mels, W)),
    tensor("a.conv1d.1.bias", [1, W], () => 0),
    half(random("a.conv1d.2.weight", 3, W, W)),
    tensor("a.conv1d.2.bias", [1, W], () => 0),
    weight("a.position_embd", W, SOUND.frames),
    ...without(blocks("a.blk", ENCODER, ["ffn_up", "ffn_down"]), /attn_k\.bias$/),
    ...norm("a.post_ln", W),
  ];
}

/** Gates of the layers' feed-forward parts. */
const gates = (): readonly Tensor[] =>
  [0, 1].flatMap((layer) => linear(`v.blk.${layer}.ffn_gate`, W, ENCODER.ffn));

/** Layers with one matrix for queries, keys and values. */
function fused(tensors: readonly Tensor[]): readonly Tensor[] {
  const others = without(tensors, /attn_[qkv]\.(?:weight|bias)$/);
  const layers = Array.from({ length: ENCODER.layers }, (_, at) => linear(`v.blk.${at}.attn_qkv`, W, 3 * W));
  return [...others, ...layers.flat()];
}

const IMAGE_TYPES: readonly Omit<ProjectorType, "medium">[] = [
  {
    type: "mlp",
    of: "LLaVA",
    tensors: () => [
      ...without(encoder({ positions: PATCHES + 1, isClass: true }), /patch_embd\.bias|post_ln/),
      ...norm("v.pre_ln", W),
      ...twoLinear("mm.0", "mm.2", W, M),
    ],
  },
  {
    type: "gemma3",
    of: "Gemma 3",
    fields: [merge(2)],
    tensors: () => [
      ...encoder(),
      weight("mm.input_projection", M, W),
      tensor("mm.soft_emb_norm.weight", [W], () => 1),
    ],
  },
  {
    type: "idefics3",
    of: "SmolVLM, Idefics 3",
    fails: "the built-in model lacks the tokens that mtmd puts around its images",
    fields: [merge(2), vision("preproc_image_size", 2 * EDGE)],
    tensors: () => [...encoder(), weight("mm.model.fc", 4 * W, M)],
  },
  {
    type: "lfm2",
    of: "LFM2-VL",
    fields: [merge(2)],
    tensors: () => [...encoder(), ...twoLinear("mm.1", "mm.2", 4 * W, H)],
  },
  { type: "janus_pro", of: "Janus-Pro", tensors: () => [...encoder(), ...twoLinear("mm.0", "mm.1", W, M)] },
  {
    type: "phi4",
    of: "Phi-4 multimodal",
    fields: pixels,
    tensors: () => [...encoder(), ...twoLinear("mm.0", "mm.2", W, M)],
  },
  {
    type: "pixtral",
    of: "Pixtral, Mistral Small 3.1",
    tensors: () => [
      ...encoder({ positions: 0 }),
      ...twoLinear("mm.1", "mm.2", W, M),
      random("v.token_embd.img_break", M),
    ],
  },
  {
    type: "lightonocr",
    of: "LightOnOCR",
    tensors: () => [...encoder({ positions: 0 }), ...twoLinear("mm.1", "mm.2", W, M)],
  },
  {
    type: "internvl",
    of: "InternVL",
    fields: [merge(2)],
    tensors: () => [
      ...encoder({ positions: PATCHES + 1, isClass: true }),
      ...norm("mm.model.mlp.0", 4 * W),
      ...twoLinear("mm.model.mlp.1", "mm.model.mlp.3", 4 * W, H),
    ],
  },
  {
    type: "llama4",
    of: "Llama 4",
    fields: [merge(2)],
    tensors: () => [
      ...without(encoder({ positions: PATCHES + 1, isClass: true }), /patch_embd/),
      weight("v.patch_embd", PATCH * PATCH * 3, W),
      weight("mm.model.mlp.1", 4 * W, H),
      weight("mm.model.mlp.2", H, H),
      weight("mm.model.fc", H, M),
    ],
  },
  {
    type: "kimivl",
    of: "Kimi-VL",
    fields: [merge(2)],
    tensors: () => [...encoder(), ...norm("mm.input_norm", W), ...twoLinear("mm.1", "mm.2", 4 * W, H)],
  },
  {
    type: "kimik25",
    of: "Kimi K2.5",
    fields: [merge(2)],
    tensors: () => [...encoder(), ...norm("mm.input_norm", W), ...twoLinear("mm.1", "mm.2", 4 * W, H)],
  },
  {
    type: "paddleocr",
    of: "PaddleOCR-VL",
    isWide: true,
    fields: pixels,
    tensors: () => [...encoder(), ...norm("mm.input_norm", W), ...twoLinear("mm.1", "mm.2", 4 * W, H)],
  },
  {
    type: "qwen2vl_merger",
    of: "Qwen2-VL",
    isWide: true,
    tensors: () => [
      ...without(encoder({ positions: 0 }), /patch_embd\.bias/),
      second(),
      ...twoLinear("mm.0", "mm.2", 4 * W, 4 * W),
    ],
  },
  {
    type: "qwen2.5vl_merger",
    of: "Qwen2.5-VL",
    isWide: true,
    fields: [vision("n_wa_pattern", 2)],
    tensors: () => [
      ...without(encoder({ positions: 0 }), /patch_embd\.bias|(?:ln1|ln2|post_ln)\.bias/),
      second(),
      ...gates(),
      ...twoLinear("mm.0", "mm.2", 4 * W, 4 * W),
    ],
  },
  {
    type: "qwen3vl_merger",
    of: "Qwen3-VL",
    isWide: true,
    tensors: () => [...fused(encoder()), second(), ...twoLinear("mm.0", "mm.2", 4 * W, 4 * W)],
  },
  {
    type: "ldpv2",
    of: "MobileVLM 2",
    edge: 24 * PATCH, // its pooling takes 24 by 24 patches
    tensors: () => [
      ...without(encoder({ positions: 24 * 24 }), /patch_embd\.bias|post_ln/),
      ...linear("mm.model.mlp.0", W, M),
      ...linear("mm.model.mlp.2", M, M),
      half(weight("mm.model.peg.0", 3, 3, 1, M)),
      tensor("mm.model.peg.0.bias", [M], () => 0),
    ],
  },
  {
    type: "adapter",
    of: "GLM-Edge-V",
    tensors: () => [
      ...encoder(),
      weight("adapter.conv", 2, 2, W, W),
      tensor("adapter.conv.bias", [W], () => 0),
      weight("adapter.linear.linear", W, M),
      ...norm("adapter.linear.norm1", M),
      weight("adapter.linear.dense_h_to_4h", M, H),
      weight("adapter.linear.gate", M, H),
      weight("adapter.linear.dense_4h_to_h", H, M),
      random("adapter.boi", M),
      random("adapter.eoi", M),
    ],
  },
  {
    type: "nemotron_v2_vl",
    of: "Nemotron Nano 2 VL",
    fields: [merge(2)],
    tensors: () => [
      ...encoder(),
      random("v.class_embd", W, 2),
      tensor("mm.model.mlp.0.weight", [4 * W], () => 1),
      weight("mm.model.mlp.1", 4 * W, H),
      weight("mm.model.mlp.3", H, M),
    ],
  },
  {
    type: "dots_ocr",
    of: "dots.ocr",
    fields: [merge(2), ...pixels],
    tensors: () => [
      ...without(encoder({ positions: 0 }), /post_ln/),
      ...norm("mm.input_norm", W),
      ...twoLinear("mm.0", "mm.2", 4 * W, 4 * W),
      tensor("mm.post_norm.weight", [W], () => 1),
    ],
  },
  {
    type: "youtuvl",
    of: "Youtu-VL",
    fields: [vision("window_size", EDGE), int32sField("clip.vision.wa_layer_indexes", [1])],
    tensors: () => [
      ...without(encoder({ positions: 0 }), /patch_embd\.weight/),
      weight("v.patch_embd", 3 * PATCH * PATCH, W),
      tensor("mm.input_norm.weight", [W], () => 1),
      ...twoLinear("mm.0", "mm.2", 4 * W, 4 * W),
    ],
  },
  {
    type: "exaone4_5",
    of: "EXAONE 4.5",
    isWide: true,
    fields: [vision("attention.head_count_kv", ENCODER.heads), ...pixels],
    tensors: () => [
      ...without(fused(encoder({ positions: 0 })), /patch_embd\.bias/),
      second(),
      ...gates(),
      ...twoLinear("mm.0", "mm.2", 4 * W, 4 * W),
    ],
  },
  {
    type: "minimax_m3",
    of: "MiniMax M3",
    tensors: () => [
      ...without(encoder({ positions: 0 }), /patch_embd\.bias/),
      second(),
      ...linear("mm.1", W, H),
      ...linear("mm.2", H, H),
      ...twoLinear("mm.merger.fc1", "mm.merger.fc2", 4 * H, H),
    ],
  },
  {
    type: "cogvlm",
    of: "CogVLM",
    tensors: () => [
      ...without(fused(encoder({ positions: PATCHES + 1, isClass: true })), /post_ln/),
      weight("mm.model.fc", W, M),
      ...norm("mm.post_fc_norm", M),
      weight("mm.up", M, H),
      weight("mm.gate", M, H),
      weight("mm.down", H, M),
      random("v.boi", M),
      random("v.eoi", M),
    ],
  },
  {
    type: "glm4v",
    of: "GLM-4.5V, GLM-OCR",
    isWide: true,
    tensors: () => [
      ...encoder(),
      second(),
      tensor("v.norm_embd.weight", [W], () => 1),
      weight("mm.patch_merger", 2, 2, W, W),
      tensor("mm.patch_merger.bias", [W], () => 0),
      weight("mm.model.fc", W, M),
      ...norm("mm.post_norm", M),
      weight("mm.up", M, H),
      weight("mm.gate", M, H),
      weight("mm.down", H, M),
    ],
  },
  {
    type: "muse-glimmer",
    of: "Muse Glimmer",
    tensors: () => [...encoder(), weight("mm.0", 4 * W, H), weight("mm.1", H, H), weight("mm.2", H, M)],
  },
  {
    type: "gemma4uv",
    of: "Gemma 4, unified",
    fields: [merge(1)],
    tensors: () => [
      weight("v.position_embd", W, 64, 2),
      weight("v.patch_embd", 3 * PATCH * PATCH, W),
      tensor("v.patch_embd.bias", [W], () => 0),
      ...blocks("v.blk", ENCODER, ["ffn_up", "ffn_down"]),
      ...norm("v.patch_norm.1", 3 * PATCH * PATCH),
      ...norm("v.patch_norm.2", W),
      ...norm("v.patch_norm.3", W),
      weight("mm.input_projection", W, M),
    ],
  },
  {
    type: "gemma4v",
    of: "Gemma 4",
    fields: [merge(2)],
    tensors: () => [
      ...without(encoder({ positions: 0 }), /patch_embd\.bias|post_ln|\.bias$/),
      weight("v.position_embd", W, 64, 2),
      ...gates().filter(({ name }) => name.endsWith("weight")),
      weight("mm.input_projection", W, M),
    ],
  },
  {
    type: "hunyuanvl",
    of: "HunyuanVL, HunyuanOCR",
    isWide: true,
    tensors: () => [
      ...encoder(),
      weight("mm.0", 2, 2, W, H),
      tensor("mm.0.bias", [H], () => 0),
      weight("mm.2", 1, 1, H, H),
      tensor("mm.2.bias", [H], () => 0),
      ...linear("mm.model.fc", H, M),
      tensor("mm.pre_norm.weight", [W], () => 1),
      tensor("mm.post_norm.weight", [M], () => 1),
      random("mm.image_begin", M),
      random("mm.image_end", M),
      random("v.image_newline", H),
    ],
  },
  {
    type: "ldp",
    of: "MobileVLM",
    edge: 24 * PATCH,
    tensors: () => [
      ...without(encoder({ positions: 24 * 24 }), /patch_embd\.bias|post_ln/),
      ...linear("mm.model.mlp.1", W, M),
      ...linear("mm.model.mlp.3", M, M),
      ...[1, 2].flatMap((block) => {
        const name = `mm.model.mb_block.${block}.block`;
        return [
          half(weight(`${name}.0.0`, 3, 3, 1, M)),
          ...norm(`${name}.0.1`, M),
          ...linear(`${name}.1.fc1`, M, H),
          ...linear(`${name}.1.fc2`, H, M),
          weight(`${name}.2.0`, M, M),
          ...norm(`${name}.2.1`, M),
        ];
      }),
    ],
  },
];

/** clip_n_output_tokens rounds down where build_stack pads: 187 and 188 for half a minute. svc answers with an error. */
const ODD_FRAMES =
  "with the stack factor of its files, this release of llama.cpp counts a token less than it makes, and stops";

const AUDIO_TYPES: readonly Omit<ProjectorType, "medium">[] = [
  {
    type: "qwen2a",
    of: "Qwen2-Audio, Qwen2.5-Omni",
    tensors: () => [...whisper(), ...linear("mm.a.fc", W, M)],
  },
  {
    type: "ultravox",
    of: "Ultravox",
    fails: ODD_FRAMES,
    fields: [audio("projector.stack_factor", 8)],
    tensors: () => [
      ...whisper(),
      tensor("mm.a.norm_pre.weight", [8 * W], () => 1),
      weight("mm.a.mlp.1", 8 * W, 2 * H),
      tensor("mm.a.norm_mid.weight", [H], () => 1),
      weight("mm.a.mlp.2", H, M),
    ],
  },
  {
    type: "voxtral",
    of: "Voxtral",
    fails: ODD_FRAMES,
    fields: [audio("projector.stack_factor", 4)],
    tensors: () => [...whisper(), weight("mm.a.mlp.1", 4 * W, H), weight("mm.a.mlp.2", H, M)],
  },
  {
    type: "glma",
    of: "GLM-ASR",
    fields: [audio("projector.stack_factor", 4)],
    tensors: () => [
      ...whisper(),
      ...norm("mm.a.norm_pre", W),
      ...twoLinear("mm.a.mlp.1", "mm.a.mlp.2", 4 * W, H),
      random("v.boi", M),
      random("v.eoi", M),
    ],
  },
  {
    type: "meralion",
    of: "MERaLiON",
    fields: [audio("projector.stack_factor", 15)],
    tensors: () => [
      ...whisper(),
      ...norm("mm.a.norm_pre", 15 * W),
      ...linear("mm.a.mlp.0", 15 * W, H),
      ...linear("mm.a.mlp.1", H, H),
      ...linear("mm.a.mlp.2", H, H),
      ...linear("mm.a.mlp.3", H, M),
    ],
  },
  {
    type: "musicflamingo",
    of: "Music Flamingo",
    tensors: () => [...whisper(), ...twoLinear("mm.a.mlp.1", "mm.a.mlp.2", W, H)],
  },
  {
    type: "qwen3a",
    of: "Qwen3-ASR, Qwen3-Omni",
    tensors: () => [
      ...without(whisper(), /conv1d/),
      weight("a.conv2d.1", 3, 3, 1, W),
      weight("a.conv2d.2", 3, 3, W, W),
      weight("a.conv2d.3", 3, 3, W, W),
      ...[1, 2, 3].map((layer) => tensor(`a.conv2d.${layer}.bias`, [W], () => 0)),
      weight("a.conv_out", (SOUND.mels / 8) * W, W),
      ...twoLinear("mm.a.mlp.1", "mm.a.mlp.2", W, H),
    ],
  },
];

export const PROJECTOR_TYPES: readonly ProjectorType[] = [
  ...IMAGE_TYPES.map((one) => ({ ...one, medium: "image" }) as const),
  ...AUDIO_TYPES.map((one) => ({ ...one, medium: "audio" }) as const),
];

/** Why the other types of clip-impl.h have no file here. */
export const NOT_BUILT: Readonly<Record<string, readonly string[]>> = {
  "no tiny form has been written yet": [
    "minicpmv4_6",
    "step3vl",
    "gemma3nv",
    "gemma3na",
    "gemma4a",
    "gemma4ua",
    "dots3note_v",
    "dots3note_a",
    "deepseekocr",
    "deepseekocr2",
    "deepseek4v",
    "lfm2a",
    "yasa2",
    "granite_speech",
    "mimovl",
    "granite4_vision",
    "mimo_audio",
    "parakeet",
  ],
  "its width is that of a large model (2,304 and more), by its version": ["resampler"],
  "a name of the two of Qwen2.5-Omni's encoders, qwen2.5vl_merger and qwen2a": ["qwen2.5o"],
  "it encodes or makes voices for speech, not input of a text model": [
    "qwen3tts_spkenc",
    "qwen3tts_gen",
    "pockettts_spkenc",
    "pockettts_gen",
  ],
};

/** Writes the file of a type. */
export function writeProjectorType(
  path: string,
  { type, medium, edge = EDGE, fields = [], tensors }: ProjectorType,
): void {
  const kind = medium === "image" ? "vision" : "audio";
  const own: readonly Field[] =
    medium === "image"
      ? [
          vision("image_size", edge),
          vision("patch_size", PATCH),
          f32sField("clip.vision.image_mean", [0.5, 0.5, 0.5]),
          f32sField("clip.vision.image_std", [0.5, 0.5, 0.5]),
        ]
      : [audio("num_mel_bins", SOUND.mels)];
  writeGguf(
    path,
    [
      stringField("general.architecture", "clip"),
      stringField("general.type", "mmproj"),
      boolField("clip.use_gelu", true),
      boolField(`clip.has_${kind}_encoder`, true),
      stringField(`clip.${kind}.projector_type`, type),
      ...encoderFields(kind, ENCODER, M),
      ...own,
      ...fields,
    ],
    tensors(),
  );
}
