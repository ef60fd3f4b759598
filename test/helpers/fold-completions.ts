// Puts a streamed completion together the way client libraries do, so that it can be compared with the body.

import { defined } from "../../src/core/defined.ts";
import type {
  CompletionChunkResponse,
  CompletionLogprobs,
  CompletionResponse,
} from "../../src/dialects/completions/schema.ts";

interface Draft {
  text: string;
  readonly logprobs: CompletionLogprobs;
  reason: CompletionResponse["choices"][number]["finish_reason"] | null;
  fingerprint?: string;
}

/** The body of so many choices that the chunks add up to. Throws when the chunks contradict each other. */
export function foldCompletionChunks(
  chunks: readonly CompletionChunkResponse[],
  choices: number,
  withLogprobs: boolean,
): CompletionResponse {
  const [first] = chunks;
  if (first === undefined) throw new Error("no chunks");
  const drafts = Array.from({ length: choices }, emptyDraft);
  let usage: CompletionResponse["usage"] | undefined;
  for (const chunk of chunks) {
    for (const key of ["id", "created", "model", "system_fingerprint", "object"] as const) {
      if (chunk[key] !== first[key]) throw new Error(`chunks differ in ${key}`);
    }
    if (usage !== undefined) throw new Error("a chunk after the usage");
    usage = chunk.usage ?? undefined;
    for (const choice of chunk.choices) addPiece(drafts[choice.index], choice);
  }
  if (usage === undefined) throw new Error("no usage");
  const { id, object, created, model, system_fingerprint } = first;
  return {
    id,
    object,
    created,
    model,
    system_fingerprint,
    choices: drafts.map(({ text, logprobs, reason, fingerprint }, index) => {
      if (reason === null) throw new Error("a choice without its finish reason");
      const end = { finish_reason: reason, ...defined({ fingerprint }) };
      return { index, text, logprobs: withLogprobs ? logprobs : null, ...end };
    }),
    usage,
  };
}

function emptyDraft(): Draft {
  return {
    text: "",
    logprobs: { tokens: [], token_logprobs: [], top_logprobs: [], text_offset: [] },
    reason: null,
  };
}

function addPiece(draft: Draft | undefined, piece: CompletionChunkResponse["choices"][number]): void {
  if (draft === undefined) throw new Error("a choice that was not asked for");
  if (draft.reason !== null) throw new Error("a choice goes on after its finish reason");
  draft.text += piece.text;
  draft.reason = piece.finish_reason;
  if (piece.fingerprint !== undefined) draft.fingerprint = piece.fingerprint;
  if (piece.logprobs === null) return;
  draft.logprobs.tokens.push(...piece.logprobs.tokens);
  draft.logprobs.token_logprobs.push(...piece.logprobs.token_logprobs);
  draft.logprobs.top_logprobs.push(...piece.logprobs.top_logprobs);
  draft.logprobs.text_offset.push(...piece.logprobs.text_offset);
}
