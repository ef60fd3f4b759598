// The part of the table of settings (settings.ts) that describes models: everything below `[[models]]`.

import { Type } from "@sinclair/typebox";
import { BUILTIN_VOICES, NEURAL_VOICE } from "../core/voice-names.ts";
import { FILE_TYPE_ALIASES, FILE_TYPE_NAMES } from "../core/quantization.ts";
import {
  choice,
  entries,
  integer,
  later,
  list,
  never,
  number,
  optional,
  section,
  text,
  toggle,
} from "./field.ts";
import { LoraEntry } from "./lora-entry.ts";
import { presetRows } from "./preset.ts";
import { ModelRouting, Upstreams } from "./upstream-settings.ts";

/** `model_id` of the toy chat model inside the executable; served when no model is configured. */
export const BUILTIN_MODEL_ID = "svc-tiny";

/** Whether a `kind`, in any of its spellings, is that of image models. */
export function isImageKind(kind: unknown): boolean {
  return kind === "image" || kind === "diffusion";
}

/** Id of the voice that is offered where no speech model is configured. */
export const BUILTIN_VOICE_NAME = "svc-voice";

const ModelFormat = section("Files of the model.", {
  format: choice(["gguf"], "File format of the weights.", { default: "gguf" }),
  quantized_file: optional(
    text("File to take of a folder or hub repository that holds several.", { example: "model-Q4_K_M.gguf" }),
  ),
  mmproj: optional(
    text("Projector file (mmproj) of the model: it then takes images, audio, or both.", {
      isPath: true,
      example: "mmproj.gguf",
    }),
  ),
  companions: choice(
    ["auto", "none"],
    "Whether a hub repository's projector and draft model are used with the model. `mmproj` and `draft` name other ones.",
    { default: "auto" },
  ),
  draft: optional(
    text("Draft model of this model, as `runtime.mtp_model` is one for all of them.", {
      flag: false,
      isPath: true,
      example: "draft.gguf",
    }),
  ),
  tok_model_id: later(optional(text("Model the tokenizer is taken from."))),
  diffusion_model: optional(
    text("Image model: diffusion weights; model_id is only a name then.", {
      isPath: true,
      example: "flux1-schnell-Q4_K.gguf",
    }),
  ),
  vae: optional(
    text("Image model: weights of the autoencoder, which may be a tiny one.", {
      isPath: true,
      example: "ae.safetensors",
    }),
  ),
  clip_l: optional(
    text("Image model: weights of the text encoder CLIP-L.", { isPath: true, example: "clip_l.safetensors" }),
  ),
  clip_g: optional(
    text("Image model: weights of the text encoder CLIP-G.", { isPath: true, example: "clip_g.safetensors" }),
  ),
  t5xxl: optional(
    text("Image model: weights of the text encoder T5-XXL.", { isPath: true, example: "t5xxl-Q4_K.gguf" }),
  ),
  llm: optional(
    text("Image model: weights of a language model as text encoder.", {
      isPath: true,
      example: "Qwen3-4B-Q4_K_M.gguf",
    }),
  ),
  speech_library: optional(
    text("Speech model: sherpa-onnx's libsherpa-onnx-c-api.so, which speaks with the voice in the folder.", {
      isPath: true,
      example: "/opt/sherpa-onnx/lib/libsherpa-onnx-c-api.so",
    }),
  ),
  from_uqff: never(optional(text("UQFF weights cannot be read; use a GGUF file."))),
  matformer_config_path: never(optional(text("llama.cpp does not support MatFormer slicing."))),
  matformer_slice_name: never(optional(text("llama.cpp does not support MatFormer slicing."))),
});

const ModelAdapter = section("LoRA adapters of the model. The three kinds exclude each other.", {
  enable_lora: toggle("Allow adapters to be loaded and used while serving."),
  lora: optional(
    list(
      LoraEntry,
      "Adapters loaded at the start: folders, GGUF files or hub repositories, as { alias, source, revision } or ALIAS=SOURCE[@REVISION].",
      { example: ["red=adapters/red"] },
    ),
  ),
  lora_max_adapters: integer("Adapters held at the same time.", { default: 16, minimum: 1 }),
  lora_max_rank: integer("Highest rank accepted.", { default: 256, minimum: 1 }),
  lora_max_bytes: integer("Bytes of all adapters.", { default: 8_589_934_592, minimum: 1 }),
  legacy_lora: optional(
    text("Static adapter of all answers of the model: a PEFT folder or a repository of the hub.", {
      example: "adapters/terse",
    }),
  ),
  legacy_lora_order: optional(
    text('JSON file, {"order": ["NAME", …]}: folders in legacy_lora that are all applied.', {
      isPath: true,
      example: "adapters/order.json",
    }),
  ),
  xlora: never(optional(text("llama.cpp does not support X-LoRA; use LoRA adapters."))),
  xlora_order: never(optional(text("llama.cpp does not support X-LoRA; use LoRA adapters."))),
});

const ModelQuantization = section("Quantization of the weights.", {
  quant: optional(
    text(
      "Picks the file of a folder or hub repository by its name: a number of bits (4, 5, 6, 8) or a type. Unset: the only model there, on the hub else Q4_K_M.",
      { example: "Q5_K_M" },
    ),
  ),
  isq: optional(
    choice(
      FILE_TYPE_NAMES,
      "Type to quantize the weights to before they are loaded (`svc quantize --help` lists them); the copy is kept in svc's cache.",
      {
        example: "Q4_K_M",
        valueAliases: FILE_TYPE_ALIASES,
      },
    ),
  ),
  imatrix: optional(
    text("Importance matrix for that, of llama-imatrix or of a calibration.", {
      isPath: true,
      example: "imatrix.gguf",
    }),
  ),
  calibration_file: optional(
    text(
      "Text that an importance matrix is made of before the weights are quantized (`isq`); takes as long as the model needs to read it.",
      { isPath: true, example: "calibration.txt" },
    ),
  ),
  isq_organization: never(optional(text("llama.cpp cannot quantize the experts alone."))),
  write_uqff: never(optional(text("UQFF files cannot be written; GGUF is the only format."))),
});

const ModelDevice = section("Where the model runs and how long its context is.", {
  cpu: toggle("Stay on the CPU even where an accelerator is present; the same for all models.", {}),
  device_layers: optional(
    integer("Layers placed on devices, the output layer as one; unset: as many as fit their free memory.", {
      flag: "--num-device-layers",
      example: 20,
      minimum: 0,
    }),
  ),
  split_mode: optional(
    choice(
      ["none", "layer", "row"],
      "How devices share a model: `none` uses one (main_gpu), `layer` gives each some layers, `row` divides the matrices where the back end can (CUDA). Unset: `layer`, with main_gpu `none`.",
      { example: "layer" },
    ),
  ),
  main_gpu: optional(
    integer("Number of the device that holds the whole model, from 0, as `svc doctor` lists them.", {
      minimum: 0,
      example: 0,
    }),
  ),
  tensor_split: optional(
    list(Type.Number({ minimum: 0 }), "Share of the model on each device; unset: by free memory.", {
      minItems: 1,
      example: [3, 1],
    }),
  ),
  cpu_moe: toggle(
    "Keep the experts of all layers on the CPU; attention and dense weights stay on the device.",
  ),
  n_cpu_moe: optional(
    integer("The same for that many layers, counted from the first one.", { minimum: 1, example: 12 }),
  ),
  memory_mb: optional(
    integer(
      "Most memory of each device that the model may take, megabytes; unset: what is free, less a reserve of 1024 MB, or an eighth of a small device.",
      { flag: "--device-memory-mb", minimum: 1, example: 20_000 },
    ),
  ),
  fallback: optional(
    choice(
      ["cpu"],
      "Loads the model on the CPU after its device or driver has failed. Unset: it is loaded on the device again.",
      { flag: "--device-fallback", example: "cpu" },
    ),
  ),
  max_seq_len: optional(
    integer("Longest context of one sequence in tokens; unset: what the model was trained for.", {
      minimum: 64,
      example: 8192,
    }),
  ),
  max_batch_size: later(optional(integer("Sequences planned for when memory is estimated.", { minimum: 1 }))),
  hf_cache: optional(
    text("Folder that downloaded models are kept in; unset: the hub tools' own (HF_HUB_CACHE, HF_HOME).", {
      isFolder: true,
      example: "hub",
    }),
  ),
  rpc: optional(
    list(
      Type.String({ minLength: 1 }),
      "host:port of machines that run `svc rpc-worker`: their devices take the layers, in proportion to their free memory.",
      { minItems: 1, example: ["gpu2:50052"] },
    ),
  ),
  rpc_token_source: optional(
    text("Where the workers' token comes from: env:NAME, path:FILE or literal:TOKEN.", {
      example: "env:SVC_RPC_TOKEN",
    }),
  ),
  rpc_ca: optional(
    text("PEM certificate that signs the workers' ones; unset: the connections are not encrypted.", {
      isPath: true,
      example: "ca.pem",
    }),
  ),
  topology: never(optional(text("llama.cpp does not read topology files; use device_layers."))),
});

const ModelMultimodal = section("Limits of images, video and audio in a prompt.", {
  max_edge: optional(
    integer("Longest edge of an image in pixels; unset: only its pixels altogether are bounded.", {
      minimum: 1,
      example: 4096,
    }),
  ),
  max_num_images: optional(integer("Images of one request; unset: 64.", { minimum: 0, example: 8 })),
  max_image_length: later(optional(integer("Longest image edge planned for, in pixels.", { minimum: 1 }))),
  max_video_frames: optional(
    integer("Frames taken from one video, evenly spaced; unset: 32.", { minimum: 1, example: 16 }),
  ),
  max_audio_seconds: optional(
    number("Seconds of audio of one request; unset: 3600.", { exclusiveMinimum: 0, example: 600 }),
  ),
});

const ModelImage = section("Image generation. Unset values suit the model's family.", {
  steps: optional(
    integer("Steps of an image. Turbo and distilled models need few.", {
      minimum: 1,
      maximum: 200,
      example: 8,
    }),
  ),
  guidance: optional(
    number("Guidance scale; 1 halves the time, for models that need no more.", {
      minimum: 1,
      maximum: 30,
      example: 4.5,
    }),
  ),
});

const ModelSpeech = section("Speech.", {
  voices: optional(
    list(
      Type.String({ pattern: "^[^=]+=[^=]+$" }),
      "Voices by the names that `voice` of requests gives them, NAME=VOICE, for a model with several; other names, and all while this is unset, are without effect.",
      { minItems: 1, example: ["alloy=heart", "onyx=fenrir"] },
    ),
  ),
});

const ModelDefaults = section(
  "Defaults of requests to the model; their own fields win. Aliases have `defaults` too.",
  {
    ...presetRows,
    generation_config: Type.Boolean({
      description:
        "Sample as the makers recommend: general.sampling.* of the file, generation_config.json of the repository.",
      default: true,
      facts: { flag: false },
    }),
  },
);

/** `[[models]]`. */
export const Models = entries("One entry for each model. Without any, the built-in toy model is served.", {
  model_id: text(
    `GGUF file, folder with a model or a voice, repository of the hub (owner/name, owner/name:Q4_K_M, owner/name@revision), \`${BUILTIN_MODEL_ID}\` or a voice (${[NEURAL_VOICE, ...BUILTIN_VOICES].map((voice) => `\`${voice}\``).join(", ")}). With \`svc run\` an alias as well.`,
    { flag: "--model", example: "models/Qwen3-0.6B-Q4_K_M.gguf", short: "-m" },
  ),
  alias: optional(
    text("Name that clients use; unset: the repository, or the file name without its ending.", {
      example: "chat",
    }),
  ),
  kind: choice(
    ["auto", "text", "multimodal", "image", "speech", "embedding", "upstream"],
    "Kind of the model; `upstream`: other servers run it, one for each [[models.upstreams]] (docs/fleet.md).",
    {
      default: "auto",
      laterValues: ["embedding"],
      valueAliases: { diffusion: "image" },
    },
  ),
  serves: optional(
    choice(["text", "image", "speech"], "What an upstream model makes; unset: text.", {
      example: "text",
      flag: false,
    }),
  ),
  fallback: optional(
    list(
      Type.String({ minLength: 1 }),
      "Models that answer, in this order, when no upstream of this one can: names of other [[models]] entries, local ones too.",
      { minItems: 1, example: ["qwen3-8b"], flag: false },
    ),
  ),
  chat_template: optional(
    text("As in [runtime], for this model only.", { flag: false, isPath: true, example: "chat.jinja" }),
  ),
  content_tokens: optional(
    list(
      Type.String({ minLength: 1 }),
      "Control tokens that texts of messages may contain, for models that are asked in them (grounding, OCR).",
      { minItems: 1, example: ["<|box_start|>"] },
    ),
  ),
  thinking_default: optional(
    choice(
      ["on", "template"],
      'Thinking where a request does not set it: always, or as the template does. Unset: `on`, with `compat = "clients"` `template`.',
      { example: "template" },
    ),
  ),
  pin: toggle("Keep the model loaded: it is unloaded neither for another one nor when idle.", {
    flag: false,
  }),
  keep_alive: optional(
    text(
      'Time without a request after which the model is unloaded: seconds, or "10m"; unset: idle_timeout. Negative: no limit.',
      {
        flag: false,
        form: {
          pattern: "^-?\\d+(?:\\.\\d+)?(?:(?:h|ms|m|s)(?:\\d+(?:\\.\\d+)?(?:h|ms|m|s))*)?$",
          words: 'seconds, or a duration such as "10m" or "1h30m"',
        },
        example: "30m",
      },
    ),
  ),
  tokenizer: later(optional(text("Tokenizer file that replaces the one in the model.", { isPath: true }))),
  arch: later(optional(text("Architecture, where the file does not say it.", { short: "-a" }))),
  dtype: choice(
    ["auto"],
    "Number format of the weights: that of the file. Another file can be named with quant.",
    {
      default: "auto",
    },
  ),
  jinja_explicit: later(
    optional(text("As in [runtime], for this model only.", { flag: false, isPath: true })),
  ),
  format: ModelFormat,
  adapter: ModelAdapter,
  quantization: ModelQuantization,
  device: ModelDevice,
  multimodal: ModelMultimodal,
  image: ModelImage,
  speech: ModelSpeech,
  defaults: ModelDefaults,
  routing: ModelRouting,
  upstreams: Upstreams,
});
