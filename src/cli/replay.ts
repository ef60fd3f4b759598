// `svc replay`: sends recorded requests again and compares the fingerprints of the answers. A file has a JSON object a line:
// {"path", "body", "answer"}; a line without an answer is a request to be recorded.

import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { jsonIn } from "../core/json.ts";
import { OPEN } from "../core/schema-fields.ts";
import type { ServerClient } from "./server-client.ts";

/** A token of an answer and its log probability. */
type Token = readonly [text: string, logprob: number | null];

/** A choice, as far as answers are compared. */
interface Choice {
  readonly index: number;
  readonly fingerprint: string | undefined;
  /** Empty where the API reports no log probabilities. */
  readonly tokens: readonly Token[];
}

const fingerprint = Type.Optional(Type.String());
const TokenLogprobs = Type.Array(Type.Object({ token: Type.String(), logprob: Type.Number() }, OPEN));

const choicesOf = <T extends TSchema>(logprobs: T) =>
  Type.Object(
    {
      choices: Type.Array(
        Type.Object(
          { index: Type.Integer({ minimum: 0 }), fingerprint, logprobs: Type.Optional(logprobs) },
          OPEN,
        ),
      ),
    },
    OPEN,
  );

const ChatAnswer = choicesOf(
  Type.Union([Type.Object({ content: Type.Union([TokenLogprobs, Type.Null()]) }, OPEN), Type.Null()]),
);

const CompletionAnswer = choicesOf(
  Type.Union([
    Type.Object(
      {
        tokens: Type.Array(Type.String()),
        token_logprobs: Type.Array(Type.Union([Type.Number(), Type.Null()])),
      },
      OPEN,
    ),
    Type.Null(),
  ]),
);

const MessagesAnswer = Type.Object({ type: Type.Literal("message"), fingerprint }, OPEN);

const Part = Type.Object({ logprobs: Type.Optional(TokenLogprobs) }, OPEN);
const Item = Type.Object({ content: Type.Optional(Type.Union([Type.Array(Part), Type.Null()])) }, OPEN);
const ResponsesAnswer = Type.Object(
  { object: Type.Literal("response"), fingerprint, output: Type.Array(Item) },
  OPEN,
);

const OllamaAnswer = Type.Object(
  { done: Type.Boolean(), fingerprint, logprobs: Type.Optional(TokenLogprobs) },
  OPEN,
);

/** A route whose answers have fingerprints. */
interface Route<T extends TSchema = TSchema> {
  /** Fields that ask for log probabilities, where the request does not say. */
  readonly defaults: object;
  /** Fields that differ from the request: the answer comes whole. */
  readonly fixed: object;
  readonly answer: T;
  choices(answer: Static<T>): readonly Choice[];
}

const route = <T extends TSchema>(one: Route<T>): Route => one;

const WHOLE = { stream: false, fingerprint: true };

const ollama = route({
  defaults: { logprobs: true },
  fixed: WHOLE,
  answer: OllamaAnswer,
  choices: (answer) => [{ index: 0, fingerprint: answer.fingerprint, tokens: tokensOf(answer.logprobs) }],
});

const ROUTES: ReadonlyMap<string, Route> = new Map([
  [
    "/v1/chat/completions",
    route({
      defaults: { logprobs: true },
      fixed: WHOLE,
      answer: ChatAnswer,
      choices: ({ choices }) =>
        choices.map((choice) => ({
          index: choice.index,
          fingerprint: choice.fingerprint,
          tokens: tokensOf(choice.logprobs?.content),
        })),
    }),
  ],
  [
    "/v1/completions",
    route({
      defaults: { logprobs: 0 },
      fixed: WHOLE,
      answer: CompletionAnswer,
      choices: ({ choices }) =>
        choices.map((choice) => ({
          index: choice.index,
          fingerprint: choice.fingerprint,
          tokens: (choice.logprobs?.tokens ?? []).map((token, i): Token => [
            token,
            choice.logprobs?.token_logprobs[i] ?? null,
          ]),
        })),
    }),
  ],
  [
    "/v1/messages",
    route({
      defaults: {},
      fixed: WHOLE,
      answer: MessagesAnswer,
      choices: (answer) => [{ index: 0, fingerprint: answer.fingerprint, tokens: [] }],
    }),
  ],
  [
    "/v1/responses",
    route({
      defaults: { logprobs: true, store: false },
      fixed: { ...WHOLE, background: false },
      answer: ResponsesAnswer,
      choices: (answer) => [
        {
          index: 0,
          fingerprint: answer.fingerprint,
          tokens: answer.output.flatMap(({ content }) =>
            (content ?? []).flatMap(({ logprobs }) => tokensOf(logprobs)),
          ),
        },
      ],
    }),
  ],
  ["/api/chat", ollama],
  ["/api/generate", ollama],
]);

const [DEFAULT_PATH = ""] = ROUTES.keys();

const Exchange = Type.Object({
  path: Type.Optional(Type.Union([...ROUTES.keys()].map((path) => Type.Literal(path)))),
  body: Type.Object({}, OPEN),
  answer: Type.Optional(Type.Object({}, OPEN)),
});

/** A request of a file and its answer. */
export type Exchange = Static<typeof Exchange>;

/** Reads a file's text. Throws a sentence that names the line at fault. */
export function readExchanges(text: string): readonly Exchange[] {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.map((line, i) => {
    const value = jsonIn(line);
    if (Value.Check(Exchange, value)) {
      if (value.answer === undefined || choicesIn(value) !== undefined) return value;
      throw new Error(`Line ${i + 1}: answer is no answer of ${value.path ?? DEFAULT_PATH}.`);
    }
    const [error] = Value.Errors(Exchange, value);
    const where = error === undefined || error.path === "" ? "it" : error.path.slice(1).replaceAll("/", ".");
    const paths = [...ROUTES.keys()].join(", ");
    throw new Error(
      `Line ${i + 1} is no recorded request: ${where} is wrong. A line is {"path": "${DEFAULT_PATH}", "body": {…}, "answer": {…}}; path is one of ${paths}.`,
    );
  });
}

/** Sends a recorded request, with fingerprints and log probabilities. Returns it with the new answer. */
export async function record(
  { path = DEFAULT_PATH, body }: Exchange,
  client: ServerClient,
): Promise<Exchange> {
  const { defaults, fixed } = ROUTES.get(path) ?? {};
  const answer = await client.json(path, { ...defaults, ...body, ...fixed });
  const again = { path, body, answer: Object(answer) };
  const choices = choicesIn(again);
  if (choices === undefined || choices.some((choice) => choice.fingerprint === undefined))
    throw new Error(
      `${client.url} answered ${path} without fingerprints. Is it a svc server of this version?`,
    );
  return again;
}

/** Where an answer parts from the recorded one, a sentence for each choice; none if the fingerprints are equal. */
export function partings(recorded: Exchange, again: Exchange): readonly string[] {
  const others = choicesIn(again) ?? [];
  return (choicesIn(recorded) ?? []).flatMap((choice) => {
    if (choice.fingerprint === undefined)
      return [`choice ${choice.index} was recorded without a fingerprint: record it with --record`];
    const other = others.find(({ index }) => index === choice.index);
    if (other?.fingerprint === choice.fingerprint) return [];
    return [
      `choice ${choice.index} ${parting(choice.tokens, other?.tokens ?? [])}${unseeded(recorded.body)}`,
    ];
  });
}

/** Undefined if the answer is of another form than its path's. */
function choicesIn({ path = DEFAULT_PATH, answer }: Exchange): readonly Choice[] | undefined {
  const known = ROUTES.get(path);
  return known !== undefined && Value.Check(known.answer, answer) ? known.choices(answer) : undefined;
}

/** Why a repeated request need not have the same answer, if that is so. */
function unseeded(body: object): string {
  const fields: { seed?: unknown; temperature?: unknown; top_k?: unknown; options?: unknown } = body;
  const { options } = fields; // where Ollama's requests have them
  const sampling = typeof options === "object" && options !== null ? { ...fields, ...options } : fields;
  const { seed = null, temperature, top_k: topK } = sampling;
  if (seed !== null || temperature === 0 || topK === 1) return "";
  return "; the request has no seed, so each answer draws its own: send seed, or temperature 0";
}

function parting(before: readonly Token[], now: readonly Token[]): string {
  if (before.length === 0) return "differs; it was recorded without log probabilities, so no token is named";
  const at = before.findIndex(([text, logprob], i) => now[i]?.[0] !== text || now[i]?.[1] !== logprob);
  const [was, is] = [before[at], now[at]];
  if (was !== undefined)
    return `parts at token ${at + 1}: ${words(was)} was recorded, now it is ${words(is)}`;
  if (now.length > before.length) return `goes on where the recorded one ends, after token ${before.length}`;
  return "has the same tokens: another model, setting or kernel computed it, or tokens without log probabilities differ";
}

function words(token: Token | undefined): string {
  return token === undefined ? "the end" : `${JSON.stringify(token[0])} (${token[1]})`;
}

function tokensOf(logprobs: Static<typeof TokenLogprobs> | null | undefined): readonly Token[] {
  return (logprobs ?? []).map(({ token, logprob }): Token => [token, logprob]);
}
