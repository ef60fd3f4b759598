// `logprobs` of chat completions: the request fields and the wire form in bodies and chunks.

import { type Static, Type } from "@sinclair/typebox";
import { orNull } from "../../core/schema-fields.ts";
import { TOP_LOGPROBS_MAX } from "../shared/limits.ts";
import type { TokenLogprob } from "../../core/run.ts";
import { tokenLogprob, TokenLogprobBody } from "../shared/logprobs.ts";

/** Properties of the request schema. */
export const logprobsProperties = {
  logprobs: orNull(Type.Boolean({ description: "Return the log probability of each content token." })),
  top_logprobs: orNull(
    Type.Integer({
      minimum: 0,
      maximum: TOP_LOGPROBS_MAX,
      description: "Number of most likely alternatives to return per token. Requires `logprobs`.",
    }),
  ),
};

export const ChoiceLogprobs = Type.Object(
  {
    content: Type.Array(TokenLogprobBody, { description: "Tokens of the content, without reasoning." }),
    refusal: Type.Null({ description: "Always null." }),
  },
  { $id: "ChoiceLogprobs", description: "Log probabilities of the tokens of a choice." },
);
type ChoiceLogprobs = Static<typeof ChoiceLogprobs>;

/** The wire form of a choice's tokens, in a body or a chunk. */
export function choiceLogprobs(tokens: readonly TokenLogprob[]): ChoiceLogprobs {
  return { content: tokens.map(tokenLogprob), refusal: null };
}
