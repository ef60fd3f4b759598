// Fields common to the body and all chunks of an answer, in chat and in completions.

import { Type } from "@sinclair/typebox";
import { defined } from "../../core/defined.ts";
import { adapterAnswerProperties } from "./adapter.ts";

export interface AnswerMeta {
  /** `chatcmpl-…`, `cmpl-…`, `resp_…` */
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  /** Id of the answering model. */
  readonly model: string;
  readonly fingerprint: string;
  /** Generation of the adapter used; absent for the base model. */
  readonly adapterGeneration?: string;
}

/** Properties to spread into the schemas of bodies and chunks. */
export const answerProperties = {
  id: Type.String({ description: "Unique id of this answer." }),
  created: Type.Integer({ minimum: 0, description: "Unix seconds." }),
  model: Type.String({ description: "Id of the model that answered." }),
  system_fingerprint: Type.String({ description: "Identifies the build of this server." }),
  ...adapterAnswerProperties,
};

/** First fields of every body and chunk of an answer. `object` is the type of the wire object. */
export function answerHead<T extends string>(meta: AnswerMeta, object: T) {
  const { id, created, model, fingerprint, adapterGeneration } = meta;
  return {
    id,
    object,
    created,
    model,
    system_fingerprint: fingerprint,
    ...defined({ adapter_generation: adapterGeneration }),
  };
}
