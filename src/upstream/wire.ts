// Schemas of the upstreams' responses, as far as they are read, and their validation.

import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";

const OPEN = { additionalProperties: true } as const;

/** Absent or null: servers differ in which they send. */
function maybe<T extends TSchema>(schema: T) {
  return Type.Optional(Type.Union([schema, Type.Null()]));
}

const Count = Type.Integer({ minimum: 0 });

const TokenChance = Type.Object(
  { token: Type.String(), logprob: Type.Number(), bytes: maybe(Type.Array(Type.Integer())) },
  OPEN,
);
export type WireChance = Static<typeof TokenChance>;

const TokenLogprob = Type.Object(
  { ...TokenChance.properties, top_logprobs: maybe(Type.Array(TokenChance)) },
  OPEN,
);

/** Of completions: parallel lists. */
const TextLogprobs = Type.Object(
  {
    tokens: Type.Array(Type.String()),
    token_logprobs: Type.Array(Type.Union([Type.Number(), Type.Null()])),
    top_logprobs: maybe(Type.Array(Type.Union([Type.Record(Type.String(), Type.Number()), Type.Null()]))),
  },
  OPEN,
);
export type WireTextLogprobs = Static<typeof TextLogprobs>;

const ToolCallDelta = Type.Object(
  {
    index: maybe(Count),
    id: maybe(Type.String()),
    /** Arguments are text, of some servers an object. */
    function: maybe(
      Type.Object({ name: maybe(Type.String()), arguments: Type.Optional(Type.Unknown()) }, OPEN),
    ),
  },
  OPEN,
);
export type WireToolCall = Static<typeof ToolCallDelta>;

/** Texts have several forms: forms.ts reads them. */
const Delta = Type.Object(
  {
    content: Type.Optional(Type.Unknown()),
    refusal: maybe(Type.String()),
    reasoning_content: Type.Optional(Type.Unknown()),
    reasoning: Type.Optional(Type.Unknown()),
    reasoning_details: Type.Optional(Type.Unknown()),
    tool_calls: maybe(Type.Array(ToolCallDelta)),
  },
  OPEN,
);
export type WireDelta = Static<typeof Delta>;

const Choice = Type.Object(
  {
    index: maybe(Count),
    delta: maybe(Delta),
    /** Of a completion. */
    text: maybe(Type.String()),
    /** The whole answer of a server that does not stream. */
    message: maybe(Delta),
    logprobs: Type.Optional(Type.Unknown()),
    finish_reason: maybe(Type.String()),
    /** vLLM, SGLang and svc: the stop string that ended the choice; a number is a token. */
    stop_reason: maybe(Type.Unknown()),
    matched_stop: maybe(Type.Unknown()),
    /** svc. */
    fingerprint: maybe(Type.String()),
  },
  OPEN,
);
export type WireChoice = Static<typeof Choice>;

const progress = {
  /** svc and llama-server; `queued_before` svc alone. */
  prompt_progress: maybe(
    Type.Object(
      { total: Count, cache: Count, processed: Count, time_ms: Type.Number(), queued_before: maybe(Count) },
      OPEN,
    ),
  ),
  /** svc. */
  load_progress: maybe(Type.Object({ progress: Type.Number({ minimum: 0, maximum: 1 }) }, OPEN)),
};

/** One `data:` of a stream. `error` stands alone. */
const Chunk = Type.Object(
  {
    choices: maybe(Type.Array(Choice)),
    /** In any form: forms.ts reads the counts. */
    usage: Type.Optional(Type.Unknown()),
    error: maybe(Type.Unknown()),
    /** svc: what it has done to the conversation. */
    context_management: Type.Optional(Type.Unknown()),
    ...progress,
  },
  OPEN,
);
export type WireChunk = Static<typeof Chunk>;

/** The last event of an answer. */
export const END = Symbol("end of the answer");

/** What an event is: a chunk, the end, or nothing of interest. */
export type EventReading = WireChunk | typeof END | undefined;

const ChatLogprobs = Type.Object({ content: maybe(Type.Array(TokenLogprob)) }, OPEN);

const ModelCard = Type.Object(
  {
    id: Type.String(),
    owned_by: maybe(Type.String()),
    max_model_len: maybe(Type.Integer({ minimum: 1 })),
    modalities: maybe(Type.Array(Type.String())),
    capabilities: maybe(Type.Unknown()),
    tools_available: maybe(Type.Boolean()),
    kind: maybe(Type.String()),
    root: maybe(Type.String()),
    /** llama-server: n_ctx is the longest sequence of a slot. */
    meta: maybe(Type.Object({ n_ctx: maybe(Type.Integer({ minimum: 1 })) }, OPEN)),
  },
  OPEN,
);
export type WireModelCard = Static<typeof ModelCard>;

const ModelList = Type.Object({ data: Type.Array(ModelCard) }, OPEN);
const Embeddings = Type.Object(
  {
    data: Type.Array(Type.Object({ index: maybe(Count), embedding: Type.Array(Type.Number()) }, OPEN)),
    usage: Type.Optional(Type.Unknown()),
  },
  OPEN,
);
const Scores = Type.Array(
  Type.Object({ index: Count, relevance_score: maybe(Type.Number()), score: maybe(Type.Number()) }, OPEN),
);
/** `results` in Cohere's and Jina's form and Infinity's, `data` in Voyage's. */
const Ranking = Type.Object(
  { results: maybe(Scores), data: maybe(Scores), usage: Type.Optional(Type.Unknown()) },
  OPEN,
);
const Image = Type.Object({ b64_json: maybe(Type.String()), url: maybe(Type.String()) }, OPEN);
export type WireImage = Static<typeof Image>;
const Images = Type.Object({ data: Type.Array(Image, { minItems: 1 }) }, OPEN);
const Tokenized = Type.Object({ count: maybe(Count), tokens: maybe(Type.Array(Type.Unknown())) }, OPEN);
const Template = Type.Object({ prompt: Type.String() }, OPEN);
const Counted = Type.Object({ input_tokens: Count }, OPEN);
/** llama-server's properties. */
const Properties = Type.Object(
  { modalities: Type.Object({ vision: maybe(Type.Boolean()), audio: maybe(Type.Boolean()) }, OPEN) },
  OPEN,
);
const Version = Type.Object({ version: Type.String() }, OPEN);

/** A function that returns its argument typed by the schema, or undefined where it is something else. */
function reader<T extends TSchema>(schema: T): (value: unknown) => Static<T> | undefined {
  let compiled: TypeCheck<T> | undefined;
  return (value) => {
    compiled ??= TypeCompiler.Compile(schema); // on first use: most servers have no upstreams
    return compiled.Check(value) ? value : undefined;
  };
}

export const readChunk = reader(Chunk);
export const readChatLogprobs = reader(ChatLogprobs);
export const readTextLogprobs = reader(TextLogprobs);
export const readModelList = reader(ModelList);
export const readEmbeddings = reader(Embeddings);
const readRankingObject = reader(Ranking);
const readScores = reader(Scores);

/** Scores by the index of their document. */
interface WireRanking {
  readonly scores: ReadonlyMap<number, number>;
  readonly usage: unknown;
}

/** A ranking in any form; that of SGLang and TEI is the list alone. */
export function readRanking(json: unknown): WireRanking | undefined {
  const bare = readScores(json);
  const whole = bare === undefined ? readRankingObject(json) : { results: bare };
  const list = whole?.results ?? whole?.data ?? undefined;
  if (list === undefined) return undefined;
  const scores = list.flatMap(({ index, relevance_score, score }) => {
    const value = relevance_score ?? score ?? undefined;
    return value === undefined ? [] : [[index, value] as const];
  });
  return { scores: new Map(scores), usage: whole?.usage };
}

export const readImages = reader(Images);
export const readTokenized = reader(Tokenized);
export const readTemplate = reader(Template);
export const readCounted = reader(Counted);
export const readProperties = reader(Properties);
export const readVersion = reader(Version);
