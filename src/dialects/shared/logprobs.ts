// Wire form of token log probabilities.

import { type Static, Type } from "@sinclair/typebox";
import { ServiceError } from "../../core/error.ts";
import type { RunRequest, TokenChance, TokenLogprob } from "../../core/run.ts";

/** OpenAI's value for a token with probability near 0; JSON has no minus infinity. */
const LOGPROB_MIN = -9999;

/** A log probability that JSON can represent. */
export function wireLogprob(logprob: number): number {
  return Math.max(logprob, LOGPROB_MIN);
}

const tokenProperties = {
  token: Type.String({ description: "Text of the token; U+FFFD replaces a partial character." }),
  logprob: Type.Number({ description: "Natural logarithm of the token's probability." }),
  bytes: Type.Array(Type.Integer({ minimum: 0, maximum: 255 }), { description: "UTF-8 bytes of the token." }),
};

const TopLogprob = Type.Object(tokenProperties, {
  $id: "TopLogprob",
  description: "A likely token in its place.",
});

/** A token of an answer, in chat and in Responses. */
export const TokenLogprobBody = Type.Object(
  {
    ...tokenProperties,
    top_logprobs: Type.Array(TopLogprob, { description: "Most likely tokens, best first." }),
  },
  { $id: "TokenLogprob", description: "A token of the answer with its log probability." },
);
export type TokenLogprobBody = Static<typeof TokenLogprobBody>;

/** The wire form of a sampled token. */
export function tokenLogprob(token: TokenLogprob): TokenLogprobBody {
  return { ...chance(token), top_logprobs: token.top.map(chance) };
}

function chance({ text, logprob, bytes }: TokenChance): Static<typeof TopLogprob> {
  return { token: text, logprob: wireLogprob(logprob), bytes: [...bytes] };
}

/** The log probabilities to return; throws `contradictory_fields` for `top_logprobs` without `logprobs`. */
export function logprobsOf({
  logprobs,
  top_logprobs: top,
}: {
  readonly logprobs?: boolean | null | undefined;
  readonly top_logprobs?: number | null | undefined;
}): RunRequest["logprobs"] {
  if (logprobs === true) return { top: top ?? 0 };
  if ((top ?? 0) === 0) return undefined;
  const message = "top_logprobs requires logprobs: true";
  throw new ServiceError("contradictory_fields", message, { param: "top_logprobs" });
}
