// `logprobs` of chat completions: the request fields' rule and the shape in bodies and chunks.

import { type Static, Type } from "@sinclair/typebox";
import { ServiceError } from "../../core/error.ts";
import { TOP_LOGPROBS_MAX } from "../../core/limits.ts";
import type { RunRequest, TokenLogprob } from "../../core/run.ts";
import { orNull } from "../shared/check.ts";
import { tokenLogprob, TokenLogprobBody } from "../shared/logprobs.ts";

/** Properties of the request schema. */
export const logprobsProperties = {
  logprobs: orNull(Type.Boolean({ description: "Report how likely each token of the content was." })),
  top_logprobs: orNull(
    Type.Integer({
      minimum: 0,
      maximum: TOP_LOGPROBS_MAX,
      description: "Report so many alternatives a token too. Needs `logprobs`.",
    }),
  ),
};

const LogprobsFields = Type.Object(logprobsProperties);

/** What to report; throws `contradictory_fields` for alternatives to nothing. */
export function logprobsOf(body: Static<typeof LogprobsFields>): RunRequest["logprobs"] {
  const top = body.top_logprobs ?? 0;
  if (body.logprobs === true) return { top };
  if (top === 0) return undefined;
  throw new ServiceError("contradictory_fields", "top_logprobs needs logprobs: true", {
    param: "top_logprobs",
  });
}

export const ChoiceLogprobs = Type.Object(
  {
    content: Type.Array(TokenLogprobBody, { description: "Tokens of the content, not of reasoning." }),
    refusal: Type.Null(),
  },
  { $id: "ChoiceLogprobs" },
);
type ChoiceLogprobs = Static<typeof ChoiceLogprobs>;

/** The wire form of the tokens of a body or a chunk. */
export function choiceLogprobs(tokens: readonly TokenLogprob[]): ChoiceLogprobs {
  return { content: tokens.map(tokenLogprob), refusal: null };
}
