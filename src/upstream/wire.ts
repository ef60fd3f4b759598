// Schemas of the upstreams' responses, as far as they are read, and their validation.

import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";
import { OPEN, orNull } from "../core/schema-fields.ts";

const Count = Type.Integer({ minimum: 0 });

const TokenChance = Type.Object(
  { token: Type.String(), logprob: Type.Number(), bytes: orNull(Type.Array(Type.Integer())) },
  OPEN,
);
export type WireChance = Static<typeof TokenChance>;

const TokenLogprob = Type.Object(
  { ...TokenChance.properties, top_logprobs: orNull(Type.Array(TokenChance)) },
  OPEN,
);

/** Of completions: parallel lists. */
const TextLogprobs = Type.Object(
  {
    tokens: Type.Array(Type.String()),
    token_logprobs: Type.Array(Type.Union([Type.Number(), Type.Null()])),
    top_logprobs: orNull(Type.Array(Type.Union([Type.Record(Type.String(), Type.Number()), Type.Null()]))),
  },
  OPEN,
);
export type WireTextLogprobs = Static<typeof TextLogprobs>;

const ToolCallDelta = Type.Object(
  {
    index: orNull(Count),
    id: orNull(Type.String()),
    /** Arguments are text, of some servers an object. */
    function: orNull(
      Type.Object({ name: orNull(Type.String()), arguments: Type.Optional(Type.Unknown()) }, OPEN),
    ),
  },
  OPEN,
);
export type WireToolCall = Static<typeof ToolCallDelta>;

/** Texts have several forms: forms.ts reads them. */
const Delta = Type.Object(
  {
    content: Type.Optional(Type.Unknown()),
    refusal: orNull(Type.String()),
    reasoning_content: Type.Optional(Type.Unknown()),
    reasoning: Type.Optional(Type.Unknown()),
    reasoning_details: Type.Optional(Type.Unknown()),
    tool_calls: orNull(Type.Array(ToolCallDelta)),
  },
  OPEN,
);
export type WireDelta = Static<typeof Delta>;

const Choice = Type.Object(
  {
    index: orNull(Count),
    delta: orNull(Delta),
    /** Of a completion. */
    text: orNull(Type.String()),
    /** The whole answer of a server that does not stream. */
    message: orNull(Delta),
    logprobs: Type.Optional(Type.Unknown()),
    finish_reason: orNull(Type.String()),
    /** vLLM, SGLang and svc: the stop string that ended the choice; a number is a token. */
    stop_reason: orNull(Type.Unknown()),
    matched_stop: orNull(Type.Unknown()),
    /** svc. */
    fingerprint: orNull(Type.String()),
  },
  OPEN,
);
export type WireChoice = Static<typeof Choice>;

const progress = {
  /** svc and llama-server; `queued_before` svc alone. */
  prompt_progress: orNull(
    Type.Object(
      { total: Count, cache: Count, processed: Count, time_ms: Type.Number(), queued_before: orNull(Count) },
      OPEN,
    ),
  ),
  /** svc. */
  load_progress: orNull(Type.Object({ progress: Type.Number({ minimum: 0, maximum: 1 }) }, OPEN)),
};

/** One `data:` of a stream. `error` stands alone. */
const Chunk = Type.Object(
  {
    choices: orNull(Type.Array(Choice)),
    /** In any form: forms.ts reads the counts. */
    usage: Type.Optional(Type.Unknown()),
    error: orNull(Type.Unknown()),
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

const ChatLogprobs = Type.Object({ content: orNull(Type.Array(TokenLogprob)) }, OPEN);

const ModelCard = Type.Object(
  {
    id: Type.String(),
    owned_by: orNull(Type.String()),
    max_model_len: orNull(Type.Integer({ minimum: 1 })),
    modalities: orNull(Type.Array(Type.String())),
    capabilities: orNull(Type.Unknown()),
    tools_available: orNull(Type.Boolean()),
    kind: orNull(Type.String()),
    root: orNull(Type.String()),
    /** llama-server: n_ctx is the longest sequence of a slot. */
    meta: orNull(Type.Object({ n_ctx: orNull(Type.Integer({ minimum: 1 })) }, OPEN)),
  },
  OPEN,
);
export type WireModelCard = Static<typeof ModelCard>;

const ModelList = Type.Object({ data: Type.Array(ModelCard) }, OPEN);
const Embeddings = Type.Object(
  {
    data: Type.Array(Type.Object({ index: orNull(Count), embedding: Type.Array(Type.Number()) }, OPEN)),
    usage: Type.Optional(Type.Unknown()),
  },
  OPEN,
);
const Scores = Type.Array(
  Type.Object({ index: Count, relevance_score: orNull(Type.Number()), score: orNull(Type.Number()) }, OPEN),
);
/** `results` in Cohere's and Jina's form and Infinity's, `data` in Voyage's. */
const Ranking = Type.Object(
  { results: orNull(Scores), data: orNull(Scores), usage: Type.Optional(Type.Unknown()) },
  OPEN,
);
const Image = Type.Object({ b64_json: orNull(Type.String()), url: orNull(Type.String()) }, OPEN);
export type WireImage = Static<typeof Image>;
const Images = Type.Object({ data: Type.Array(Image, { minItems: 1 }) }, OPEN);
const Tokenized = Type.Object({ count: orNull(Count), tokens: orNull(Type.Array(Type.Unknown())) }, OPEN);
const Template = Type.Object({ prompt: Type.String() }, OPEN);
const Counted = Type.Object({ input_tokens: Count }, OPEN);
/** llama-server's properties. */
const Properties = Type.Object(
  { modalities: Type.Object({ vision: orNull(Type.Boolean()), audio: orNull(Type.Boolean()) }, OPEN) },
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
