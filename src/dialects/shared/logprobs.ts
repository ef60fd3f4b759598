// Log probabilities on the wire.

import { type Static, Type } from "@sinclair/typebox";
import type { TokenChance, TokenLogprob } from "../../core/run.ts";

/** What the base dialect sends for a token that is as good as impossible; JSON has no minus infinity. */
const LOGPROB_MIN = -9999;

/** A log probability as JSON can hold it. */
export function wireLogprob(logprob: number): number {
  return Math.max(logprob, LOGPROB_MIN);
}

const tokenProperties = {
  token: Type.String({ description: "Its text; U+FFFD stands for a part of a character." }),
  logprob: Type.Number({ description: "Natural logarithm of its probability." }),
  bytes: Type.Array(Type.Integer({ minimum: 0, maximum: 255 }), { description: "Its UTF-8 bytes." }),
};

const TopLogprob = Type.Object(tokenProperties, { $id: "TopLogprob" });

/** A token of an answer, in chat and in Responses. */
export const TokenLogprobBody = Type.Object(
  {
    ...tokenProperties,
    top_logprobs: Type.Array(TopLogprob, { description: "Likeliest tokens, best first." }),
  },
  { $id: "TokenLogprob" },
);
export type TokenLogprobBody = Static<typeof TokenLogprobBody>;

/** The wire form of a drawn token. */
export function tokenLogprob(token: TokenLogprob): TokenLogprobBody {
  return { ...chance(token), top_logprobs: token.top.map(chance) };
}

function chance({ text, logprob, bytes }: TokenChance): Static<typeof TopLogprob> {
  return { token: text, logprob: wireLogprob(logprob), bytes: [...bytes] };
}
