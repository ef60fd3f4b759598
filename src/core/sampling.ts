// How the next token is drawn. A numeric option is one row of SAMPLING_OPTIONS: requests, settings, recommendations of files, bodies
// for other servers, the native sampler's columns and fields of the web interface follow from it. Pure; loaded by browsers, too.
// Options that are no number (`logit_bias`, `dry_*`, `seed`) stay by hand: each has a form of its own.

/** Servers of other makers that may stand behind svc. `other`: any with an OpenAI-compatible API. */
export type ForeignServer = "vllm" | "sglang" | "llama-server" | "ollama" | "other";

export interface SamplingOption {
  /** Values with a meaning, inclusive unless named otherwise. */
  readonly range: {
    readonly minimum?: number;
    readonly exclusiveMinimum?: number;
    readonly maximum?: number;
  };
  readonly isWhole?: true;
  /** Smaller values that requests may send, and what they count as. */
  readonly below?: { readonly minimum: number; readonly countsAs: number };
  /** Switches its stage off. */
  readonly neutral: number;
  /** svc's own default for local models without a recommendation: that of llama.cpp's server. A small model babbles without cuts. */
  readonly svcDefault?: number;
  /** Value in the example file. */
  readonly example: number;
  /** Step of the field in the web interface. */
  readonly step: number;
  /** What it does, for the settings. */
  readonly text: string;
  /** The same for requests, where they may say more. */
  readonly requestText?: string;
  /** Column of `svc_sampler_new`. */
  readonly column: number;
  /** Its penalty counts tokens of the prompt. */
  readonly countsPrompt?: true;
  /** Name in llama.cpp's server and Ollama, where it is another. */
  readonly llamaName?: string;
  /** Its field below `general.sampling.` of a GGUF file, where makers recommend it (llama.cpp: gguf-py/gguf/constants.py). */
  readonly fileKey?: string;
  /** Servers that honour it in chat completions; svc always does. Source: references of the servers. */
  readonly servers: "all" | readonly ForeignServer[];
}

/** Names are those of requests and settings. The order is that of documents and of the web interface. */
export const SAMPLING_OPTIONS = {
  /** Divides the logits before the cuts below. */
  temperature: {
    range: { minimum: 0, maximum: 2 },
    neutral: 1,
    svcDefault: 0.8,
    example: 0.7,
    step: 0.1,
    text: "Randomness; 0 always takes the most likely token.",
    column: 0,
    fileKey: "temp",
    servers: "all",
  },
  /** Nucleus: the smallest set of tokens whose probabilities reach this sum. */
  top_p: {
    range: { exclusiveMinimum: 0, maximum: 1 },
    below: { minimum: 0, countsAs: 1e-7 }, // no vocabulary has a most likely token below it: a smaller sum means the same
    neutral: 1,
    svcDefault: 0.95,
    example: 0.8,
    step: 0.01,
    text: "Samples from the smallest set of tokens whose probabilities sum to this.",
    requestText:
      "Samples from the smallest set of tokens whose probabilities sum to this; 0 takes the most likely token, 1 means all.",
    column: 1,
    fileKey: "top_p",
    servers: "all",
  },
  top_k: {
    range: { minimum: 0 },
    isWhole: true,
    below: { minimum: -1, countsAs: 0 },
    neutral: 0,
    svcDefault: 40,
    example: 20,
    step: 1,
    text: "Cap on candidate tokens; 0: none.",
    requestText: "Cap on candidate tokens; 0 and -1 mean no cap.",
    column: 3,
    fileKey: "top_k",
    servers: ["vllm", "sglang", "llama-server"],
  },
  min_p: {
    range: { minimum: 0, maximum: 1 },
    neutral: 0,
    svcDefault: 0.05,
    example: 0.05,
    step: 0.01,
    text: "Drops tokens less likely than this fraction of the most likely one.",
    requestText: "Drops tokens less likely than this fraction of the most likely token; 0 means none.",
    column: 2,
    fileKey: "min_p",
    servers: ["vllm", "sglang", "llama-server"],
  },
  presence_penalty: {
    range: { minimum: -2, maximum: 2 },
    neutral: 0,
    example: 0.5,
    step: 0.1,
    text: "Penalizes tokens that already occur in the answer.",
    column: 6,
    servers: "all",
  },
  frequency_penalty: {
    range: { minimum: -2, maximum: 2 },
    neutral: 0,
    example: 0.5,
    step: 0.1,
    text: "Penalizes tokens for each occurrence in the answer.",
    column: 5,
    servers: "all",
  },
  /** Negative logits are multiplied. */
  repetition_penalty: {
    range: { exclusiveMinimum: 0 },
    neutral: 1,
    example: 1.05,
    step: 0.05,
    text: "Divides the logits of tokens in the prompt or the answer; 1: off.",
    requestText: "Divides the logits of tokens in the prompt or the answer.",
    column: 4,
    countsPrompt: true,
    llamaName: "repeat_penalty",
    fileKey: "penalty_repeat",
    servers: ["vllm", "sglang", "llama-server"],
  },
} as const satisfies Readonly<Record<string, SamplingOption>>;

export type SamplingName = keyof typeof SAMPLING_OPTIONS;

/** In the order of the table. */
export const SAMPLING_NAMES = Object.keys(SAMPLING_OPTIONS) as readonly SamplingName[];

/** Those that shape the draw, for which svc has defaults of its own, and those that punish repetition. */
export const DRAW_OPTIONS = SAMPLING_NAMES.filter((name) => samplingOption(name).svcDefault !== undefined);
export const PENALTY_OPTIONS = SAMPLING_NAMES.filter((name) => !DRAW_OPTIONS.includes(name));

/** The row of an option. */
export function samplingOption(name: SamplingName): SamplingOption {
  return SAMPLING_OPTIONS[name];
}

type Rows = typeof SAMPLING_OPTIONS;
/** Names of the options in llama.cpp's server and Ollama. */
export type LlamaName = {
  [Name in SamplingName]: Rows[Name] extends { readonly llamaName: infer Other extends string }
    ? Other
    : Name;
}[SamplingName];

export function llamaNameOf(name: SamplingName): LlamaName {
  return (samplingOption(name).llamaName ?? name) as LlamaName; // as its type says
}

/** A value for each option. */
export function bySamplingName<T>(valueOf: (name: SamplingName, option: SamplingOption) => T) {
  const pairs = SAMPLING_NAMES.map((name) => [name, valueOf(name, SAMPLING_OPTIONS[name])] as const);
  return Object.fromEntries(pairs) as Record<SamplingName, T>; // one pair for each name
}

/** Whether an option has a value that means something. */
export function isInRange(name: SamplingName, value: number): boolean {
  const { range, isWhole } = samplingOption(name);
  const { minimum = -Infinity, exclusiveMinimum = -Infinity, maximum = Infinity } = range;
  const isFit = Number.isFinite(value) && (isWhole !== true || Number.isInteger(value));
  return isFit && value >= minimum && value > exclusiveMinimum && value <= maximum;
}

type Camel<S extends string> = S extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : S;

/** Values of the options, under the names of code: `topP`. */
export type SamplingNumbers = { readonly [Name in SamplingName as Camel<Name>]: number };

const PARAMS = bySamplingName(
  (name) => name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()) as keyof SamplingNumbers, // as Camel does
);

/** The name of an option in code. */
export function paramOf(name: SamplingName): keyof SamplingNumbers {
  return PARAMS[name];
}

/** The values under the names of code; what is absent or null stays absent. */
export function samplingNumbers(
  values: Readonly<Partial<Record<SamplingName, number | null | undefined>>>,
): Partial<SamplingNumbers> {
  const pairs = SAMPLING_NAMES.map((name) => [PARAMS[name], values[name] ?? undefined] as const);
  return Object.fromEntries(pairs.filter(([, value]) => value !== undefined));
}

/** The options that change something: those that are not neutral. */
export function usedOptions(sampling: SamplingNumbers): readonly SamplingName[] {
  return SAMPLING_NAMES.filter((name) => sampling[PARAMS[name]] !== samplingOption(name).neutral);
}

/** Don't Repeat Yourself: punishes tokens that would lengthen a repetition of what is already there. */
export interface DryParams {
  /** Strength; 0 switches it off. */
  readonly multiplier: number;
  /** The penalty is multiplier × base^(length − allowedLength). */
  readonly base: number;
  /** Repetitions up to this length, in tokens, are free. */
  readonly allowedLength: number;
  /** Strings over which no repetition is counted. */
  readonly sequenceBreakers: readonly string[];
}

/** Adds `bias` to one token's logit. −100 and below bans it, 100 and above forces it. */
export interface LogitBias {
  readonly token: number;
  readonly bias: number;
}

/** Sampling settings of one run, checked by a dialect's schema. docs/sampling.md has the order of the stages. */
export interface SamplingParams extends SamplingNumbers {
  readonly logitBias: readonly LogitBias[];
  readonly dry: DryParams;
  /** Start of the run's random stream; absent means a fresh one. Each choice derives its own from it. */
  readonly seed?: number;
}

export const DEFAULT_DRY: DryParams = {
  multiplier: 0,
  base: 1.75,
  allowedLength: 2,
  sequenceBreakers: ["\n", ":", '"', "*"],
};

/** Every stage off. */
export const DEFAULT_SAMPLING: SamplingParams = {
  ...(samplingNumbers(bySamplingName((_, { neutral }) => neutral)) as SamplingNumbers), // a value for each name
  logitBias: [],
  dry: DEFAULT_DRY,
};
