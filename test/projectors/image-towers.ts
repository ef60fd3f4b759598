// Projector types of images whose encoders are of several parts, or look like no other one.

import { type Field, FIELD } from "../../src/core/gguf.ts";
import { int32sField, type Tensor, u32Field } from "../../src/lora/gguf-write.ts";
import { half, linear, norm, random } from "../helpers/write-projector.ts";
import {
  convolution,
  each,
  EDGE,
  encoder,
  ENCODER,
  fused,
  gates,
  H,
  M,
  merge,
  ones,
  PATCH,
  pixels,
  type ProjectorType,
  queryLayer,
  second,
  twoLinear,
  vision,
  W,
  weight,
  without,
  zeros,
} from "./parts.ts";

/** Sides of the grid of positions of MiniCPM-V's encoder: clip.cpp, bucket_coords. */
const BUCKETS = 70;
const MINICPM_CONTROLS = ["<image>", "</image>", "<slice>", "</slice>", "\n"];
const MINICPM_VERSION: Field = {
  key: "clip.minicpmv_version",
  type: FIELD.i32,
  raw: Uint8Array.from([3, 0, 0, 0]), // 2.6
};
/** Granite's query layers have heads of this width. */
const QUERY = { ...ENCODER, width: 64, ffn: 64, heads: 2 } as const;
const EXPERTS = 4;
/** The tower of DeepSeek-OCR's first part takes images of 1,024 pixels in patches of 16. */
const SAM = { patches: 64, patch: 16, ffn: 64, layers: 3, window: 14 } as const;

/** DeepSeek-OCR's first part, whose third layer sees the whole image. */
function sam(): readonly Tensor[] {
  const { patches, patch, ffn, layers, window } = SAM;
  return [
    weight("v.sam.pos_embd", W, patches, patches),
    ...convolution("v.sam.patch_embd", patch, patch, 3, W),
    ...each(layers, (layer) => {
      const at = `v.sam.blk.${layer}`;
      const distances = 2 * (layer === 2 ? patches : window) - 1;
      return [
        ...norm(`${at}.pre_ln`, W),
        ...norm(`${at}.post_ln`, W),
        ...linear(`${at}.attn.qkv`, W, 3 * W),
        ...linear(`${at}.attn.out`, W, W),
        weight(`${at}.attn.pos_h`, W, distances),
        weight(`${at}.attn.pos_w`, W, distances),
        ...linear(`${at}.mlp.lin1`, W, ffn),
        ...linear(`${at}.mlp.lin2`, ffn, W),
      ];
    }),
    weight("v.sam.neck.0", 1, 1, W, W),
    ...norm("v.sam.neck.1", W),
    weight("v.sam.neck.2", 3, 3, W, W),
    ...norm("v.sam.neck.3", W),
    weight("v.sam.net_2", 3, 3, W, W),
    weight("v.sam.net_3", 3, 3, W, W),
    random("v.image_newline", M),
    random("v.view_seperator", M),
  ];
}

const samFields = [
  vision("sam.block_count", SAM.layers),
  vision("sam.head_count", 1),
  vision("sam.embedding_length", W),
  vision("window_size", SAM.window),
];

/** A stage of Reka's convolutions. */
function yasaStage(stage: number): readonly Tensor[] {
  const at = `v.stage.${stage}`;
  const block = `${at}.blk.0`;
  const down = [...norm(`${at}.down.ln`, W), ...convolution(`${at}.down.conv`, 2, 2, W, W)];
  return [
    ...(stage === 0 ? [] : down),
    half(weight(`${block}.dw`, 7, 7, 1, W)),
    zeros(`${block}.dw.bias`, W),
    ...norm(`${block}.ln`, W),
    ...linear(`${block}.pw1`, W, 4 * W),
    ...norm(`${block}.grn`, 4 * W),
    ...linear(`${block}.pw2`, 4 * W, W),
  ];
}

/** Gemma 3n's stages: convolutions, their inverted form by channel, and attention; each halves the image. */
function mobileStages(): readonly Tensor[] {
  const c = 8;
  const inverted = (stage: number, outputs: number): readonly Tensor[] => [
    half(weight(`v.blk.${stage}.0.dw_start.conv`, 3, 3, 1, c)),
    weight(`v.blk.${stage}.0.pw_exp.conv`, 1, 1, c, 2 * c),
    half(weight(`v.blk.${stage}.0.dw_mid.conv`, 3, 3, 1, 2 * c)),
    ones(`v.blk.${stage}.0.dw_mid.bn.weight`, 2 * c),
    weight(`v.blk.${stage}.0.pw_proj.conv`, 1, 1, 2 * c, outputs),
  ];
  return [
    weight("v.conv_stem.conv", 3, 3, 3, c),
    ones("v.conv_stem.bn.weight", c),
    weight("v.blk.0.0.conv_exp", 3, 3, c, 2 * c),
    ones("v.blk.0.0.bn1.weight", 2 * c),
    weight("v.blk.0.0.conv_pwl", 1, 1, 2 * c, c),
    ...inverted(1, c),
    ...inverted(2, c),
    ...inverted(3, c),
    ones("v.blk.3.1.norm.weight", c),
    weight("v.blk.3.1.attn.query.proj", 1, 1, c, c),
    half(weight("v.blk.3.1.attn.key.down_conv", 3, 3, 1, c)),
    weight("v.blk.3.1.attn.key.proj", 1, 1, c, c),
    half(weight("v.blk.3.1.attn.value.down_conv", 3, 3, 1, c)),
    weight("v.blk.3.1.attn.value.proj", 1, 1, c, c),
    weight("v.blk.3.1.attn.output.proj", 1, 1, c, c),
    weight("v.msfa.ffn.pw_exp.conv", 1, 1, 2 * c, 2 * c),
    weight("v.msfa.ffn.pw_proj.conv", 1, 1, 2 * c, M),
    ones("v.msfa.norm.weight", M),
  ];
}

export const IMAGE_TOWERS: readonly Omit<ProjectorType, "medium">[] = [
  {
    type: "resampler",
    of: "MiniCPM-V 2.5 to 4.5",
    controls: MINICPM_CONTROLS,
    fields: [MINICPM_VERSION, u32Field("clip.minicpmv_query_num", 16)],
    tensors: () => [
      ...encoder({ positions: BUCKETS ** 2 }),
      weight("resampler.kv", W, M),
      random("resampler.pos_embed_k", M, 16),
      random("resampler.query", M, 16),
      weight("resampler.proj", M, M),
      ...["q", "k", "v", "out"].flatMap((part) => linear(`resampler.attn.${part}`, M, M)),
      ...["q", "kv", "post"].flatMap((part) => norm(`resampler.ln_${part}`, M)),
    ],
  },
  {
    type: "minicpmv4_6",
    of: "MiniCPM-V 4.6",
    controls: MINICPM_CONTROLS,
    fields: [int32sField("clip.vision.wa_layer_indexes", [0])],
    tensors: () => [
      ...encoder({ positions: BUCKETS ** 2 }),
      ...norm("v.vit_merger.ln1", W),
      ...["q", "k", "v", "out"].flatMap((part) => linear(`v.vit_merger.attn_${part}`, W, W)),
      ...norm("v.vit_merger.ds_ln", 4 * W),
      ...linear("v.vit_merger.ds_ffn_up", 4 * W, H),
      ...linear("v.vit_merger.ds_ffn_down", H, W),
      ...norm("mm.input_norm", 4 * W),
      ...twoLinear("mm.up", "mm.down", 4 * W, H),
    ],
  },
  {
    type: "step3vl",
    of: "Step3-VL",
    edge: 64,
    controls: ["<im_start>", "<im_end>", "<patch_start>", "<patch_end>", "<patch_newline>"],
    tensors: () => [
      ...encoder({ positions: 64 }),
      ...convolution("mm.0", 3, 3, W, H),
      ...convolution("mm.1", 3, 3, H, H),
      weight("mm.model.fc", H, M),
    ],
  },
  {
    type: "yasa2",
    of: "Reka Edge",
    edge: 128,
    encoder: { ...ENCODER, layers: 0 },
    tensors: () => [
      ...convolution("v.patch_embd", PATCH, PATCH, 3, W),
      ...norm("v.patch_ln", W),
      ...yasaStage(0),
      ...yasaStage(1),
      ...twoLinear("mm.0", "mm.2", W, H),
    ],
  },
  {
    type: "mimovl",
    of: "MiMo-V2.5",
    fields: [
      vision("attention.head_count_kv", ENCODER.heads),
      vision("window_size", 2),
      int32sField("clip.vision.wa_pattern_mode", [0, 1]),
      ...pixels,
    ],
    tensors: () => [
      ...without(fused(encoder({ positions: 0 })), /patch_embd\.bias/),
      second(),
      ...gates(),
      ...each(2, (layer) => [random(`v.blk.${layer}.attn_sinks`, ENCODER.heads)]),
      weight("mm.0", 4 * W, 4 * W),
      weight("mm.2", 4 * W, M),
    ],
  },
  {
    type: "dots3note_v",
    of: "dots3.note",
    activation: "silu",
    fields: [vision("spatial_merge_size", 2), vision("expert_used_count", 2), ...pixels],
    tensors: () => [
      ...without(encoder({ positions: 0 }), /post_ln|blk\.1\.ffn/),
      weight("v.blk.1.ffn_gate_inp", W, EXPERTS),
      weight("v.blk.1.exp_probs_b", EXPERTS),
      weight("v.blk.1.ffn_gate_exps", W, ENCODER.ffn, EXPERTS),
      weight("v.blk.1.ffn_up_exps", W, ENCODER.ffn, EXPERTS),
      weight("v.blk.1.ffn_down_exps", ENCODER.ffn, W, EXPERTS),
      ...norm("mm.input_norm", W),
      ...twoLinear("mm.0", "mm.2", 4 * W, 4 * W),
      ones("mm.post_norm.weight", W),
    ],
  },
  {
    type: "deepseekocr",
    of: "DeepSeek-OCR",
    fields: samFields,
    tensors: () => [
      ...without(encoder({ positions: 16 * 16 + 1, isClass: true }), /patch_embd|post_ln/),
      ...norm("v.pre_ln", W),
      ...sam(),
      ...linear("mm.model.fc", 2 * W, M),
    ],
  },
  {
    type: "deepseekocr2",
    of: "DeepSeek-OCR 2",
    fields: [...samFields, vision("attention.head_count_kv", ENCODER.heads)],
    tensors: () => [
      ...without(encoder({ positions: 0 }), /patch_embd|(?:ln1|ln2|post_ln)\.bias/),
      ...gates(),
      ...sam(),
      weight("v.resample_query_768", W, 12 * 12),
      weight("v.resample_query_1024", W, 16 * 16),
      ...linear("mm.model.fc", W, M),
    ],
  },
  {
    type: "deepseek4v",
    of: "DeepSeek-V4-Flash-Vision",
    fields: [merge(3), vision("image_min_pixels", 1024)],
    tensors: () => [
      ...without(encoder({ positions: 0 }), /(?:ln1|ln2|post_ln)\.bias/),
      ...gates(),
      ...twoLinear("mm.1", "mm.2", 9 * W, H),
      random("v.image_newline", M),
      ...["start", "end", "pad"].map((place) => random(`v.token_embd.img_${place}`, M)),
    ],
  },
  {
    type: "granite4_vision",
    of: "Granite Vision 4.1",
    encoder: QUERY,
    outputs: M / 2, // of two projectors
    fields: [
      int32sField("clip.vision.feature_layer", [0, 1]),
      int32sField("clip.vision.projector.spatial_offsets", [-1, 0]),
      int32sField("clip.vision.image_grid_pinpoints", [EDGE, EDGE, 2 * EDGE, 2 * EDGE]),
      vision("projector.query_side", 1),
      vision("projector.window_side", 2),
    ],
    tensors: () => [
      ...encoder({ of: QUERY }),
      random("v.image_newline", M / 2),
      ...each(2, (projector) => {
        const at = `v.proj_blk.${projector}`;
        return [
          random(`${at}.img_pos`, QUERY.width, 4),
          random(`${at}.query`, QUERY.width, 1),
          ...linear(`${at}.linear`, QUERY.width, M / 2),
          ...norm(`${at}.norm`, QUERY.width),
          ...norm(`${at}.post_norm`, QUERY.width),
          ...queryLayer(at, QUERY.width),
        ];
      }),
    ],
  },
  {
    type: "gemma3nv",
    of: "Gemma 3n",
    edge: 256,
    patch: 1, // the number of tokens is the image's side over the patch's
    encoder: { ...ENCODER, width: M },
    tensors: () => [
      ...mobileStages(),
      weight("mm.input_projection", M, M),
      ones("mm.soft_emb_norm.weight", M),
    ],
  },
];
