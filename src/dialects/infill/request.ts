// Converts an infill body to a RunRequest. Pure.

import { type Compat, STRICT } from "../../core/compat.ts";
import { bodyChecker } from "../shared/unknown-fields.ts";
import { defined } from "../../core/defined.ts";
import { INFILL_ANSWER_TOKENS } from "../shared/limits.ts";
import { SVC_PRESET } from "../../core/preset.ts";
import type { RunRequest } from "../../core/run.ts";
import { bySamplingName, llamaNameOf } from "../../core/sampling.ts";
import { isPresent } from "../shared/check.ts";
import { capTokens, samplingOf, stopOf } from "../shared/sampling.ts";
import { InfillRequest } from "./schema.ts";

/** How a run is presented in the answer. */
export interface InfillLayout {
  /** Minimum indentation of the answer's lines except the first, in spaces and tabs; 0: no minimum. */
  readonly indent: number;
  /** Paths of the fields to return; undefined: all. */
  readonly fields?: readonly string[];
}

export interface InfillCall {
  readonly run: RunRequest;
  readonly layout: InfillLayout;
  readonly stream: boolean;
}

const checkBody = bodyChecker(InfillRequest);

/** Parses a request body; throws a ServiceError naming the field at fault and the accepted values. */
export function parseInfillRequest(
  json: Readonly<Record<string, unknown>>,
  compat: Compat = STRICT,
): InfillCall {
  const body = checkBody(json, compat);
  const cap = isPresent(body.n_predict) && body.n_predict >= 0 ? capTokens(body.n_predict) : undefined;
  const lineDeadlineMs = body.t_max_predict_ms ?? 0;
  return {
    run: {
      model: body.model ?? "default",
      prompt: {
        type: "gap",
        before: body.input_prefix + (body.prompt ?? ""),
        after: body.input_suffix,
        files: (body.input_extra ?? []).map(({ filename, text }) => ({ name: filename ?? "file", text })),
        answerTokens: cap ?? INFILL_ANSWER_TOKENS,
      },
      sampling: samplingOf({
        ...body,
        // The defaults of llama.cpp's server, for which the plugins are tuned, are svc's.
        ...bySamplingName((name) => body[name] ?? body[llamaNameOf(name)] ?? SVC_PRESET[name] ?? null),
        seed: isPresent(body.seed) && body.seed >= 0 ? body.seed : null, // -1: random
      }),
      stop: stopOf(body.stop),
      ...defined({ maxTokens: cap }),
      ...(lineDeadlineMs > 0 ? { lineDeadlineMs } : {}),
      choices: 1,
      truncate: false, // a gap prompt is already trimmed to the context
    },
    layout: {
      indent: body.n_indent ?? 0,
      ...(isPresent(body.response_fields) ? { fields: body.response_fields } : {}),
    },
    stream: body.stream ?? false,
  };
}
