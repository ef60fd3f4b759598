// `svc replay`: sends recorded requests again and compares the fingerprints of the answers. A file has a JSON object a line:
// {"path", "body", "answer"}; a line without an answer is a request to be recorded.

import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { ServerClient } from "./server-client.ts";

const PATHS = ["/v1/chat/completions", "/v1/completions"] as const;

const OPEN = { additionalProperties: true };

const Choice = Type.Object(
  {
    index: Type.Integer({ minimum: 0 }),
    fingerprint: Type.Optional(Type.String()),
    logprobs: Type.Optional(Type.Unknown()),
  },
  OPEN,
);

const Answer = Type.Object({ choices: Type.Array(Choice) }, OPEN);
type Answer = Static<typeof Answer>;

const Exchange = Type.Object({
  path: Type.Optional(Type.Union(PATHS.map((path) => Type.Literal(path)))),
  body: Type.Object({}, OPEN),
  answer: Type.Optional(Answer),
});

/** A request of a file and its answer. */
export type Exchange = Static<typeof Exchange>;

/** Log probabilities as chat completions have them. */
const ChatLogprobs = Type.Object(
  { content: Type.Array(Type.Object({ token: Type.String(), logprob: Type.Number() }, OPEN)) },
  OPEN,
);

/** Log probabilities as completions have them. */
const TextLogprobs = Type.Object(
  { tokens: Type.Array(Type.String()), token_logprobs: Type.Array(Type.Union([Type.Number(), Type.Null()])) },
  OPEN,
);

/** Reads a file's text. Throws a sentence that names the line at fault. */
export function readExchanges(text: string): readonly Exchange[] {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.map((line, i) => {
    const value = parsed(line);
    if (Value.Check(Exchange, value)) return value;
    const [error] = Value.Errors(Exchange, value);
    const where = error === undefined || error.path === "" ? "it" : error.path.slice(1).replaceAll("/", ".");
    throw new Error(
      `Line ${i + 1} is no recorded request: ${where} is wrong. A line is {"path": "${PATHS[0]}", "body": {…}, "answer": {…}}.`,
    );
  });
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** Sends a recorded request, with fingerprints and log probabilities. Returns it with the new answer. */
export async function record({ path = PATHS[0], body }: Exchange, client: ServerClient): Promise<Exchange> {
  const wanted = path === PATHS[0] ? { logprobs: true } : { logprobs: 0 };
  const sent = { ...wanted, ...body, stream: false, fingerprint: true };
  const answer = await client.json(path, sent);
  if (!Value.Check(Answer, answer)) throw new Error(`${client.url} answered ${path} without choices.`);
  return { path, body, answer };
}

/** Where an answer parts from the recorded one, a sentence for each choice; none if the fingerprints are equal. */
export function partings(recorded: Exchange, again: Exchange): readonly string[] {
  const choices = recorded.answer?.choices ?? [];
  return choices.flatMap((choice) => {
    if (choice.fingerprint === undefined)
      return [`choice ${choice.index} was recorded without a fingerprint: record it with --record`];
    const other = again.answer?.choices.find(({ index }) => index === choice.index);
    if (other?.fingerprint === choice.fingerprint) return [];
    return [`choice ${choice.index} ${parting(tokensOf(choice.logprobs), tokensOf(other?.logprobs))}`];
  });
}

type Token = readonly [text: string, logprob: number | null];

function parting(before: readonly Token[], now: readonly Token[]): string {
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

function tokensOf(logprobs: unknown): readonly Token[] {
  if (Value.Check(ChatLogprobs, logprobs))
    return logprobs.content.map(({ token, logprob }): Token => [token, logprob]);
  if (!Value.Check(TextLogprobs, logprobs)) return [];
  return logprobs.tokens.map((token, i): Token => [token, logprobs.token_logprobs[i] ?? null]);
}
