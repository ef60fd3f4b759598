// Puts a streamed chat answer together the way client libraries do, so that it can be compared with the body.

import { defined } from "../../src/core/defined.ts";
import type { ChatCompletionChunkResponse, ChatCompletionResponse } from "../../src/dialects/chat/schema.ts";

interface Draft {
  content: string;
  reasoning: string | undefined;
  readonly tokens: NonNullable<ChatCompletionResponse["choices"][number]["logprobs"]>["content"];
  readonly calls: { id: string; name: string; args: string }[];
  reason: string | null;
  fingerprint?: string;
}

/**
 * The body that the chunks add up to, with log probabilities if the request was for them. Throws when the chunks
 * disagree about what they have in common.
 */
export function foldChunks(
  chunks: readonly ChatCompletionChunkResponse[],
  withLogprobs = false,
): ChatCompletionResponse {
  const [first] = chunks;
  if (first === undefined) throw new Error("no chunks");
  const drafts: Draft[] = [];
  let usage: ChatCompletionResponse["usage"] | undefined;
  for (const chunk of chunks) {
    for (const key of ["id", "created", "model", "system_fingerprint", "object"] as const) {
      if (chunk[key] !== first[key]) throw new Error(`chunks differ in ${key}`);
    }
    if (usage !== undefined) throw new Error("a chunk after the usage");
    usage = chunk.usage ?? undefined;
    for (const choice of chunk.choices) addDelta(drafts, choice);
  }
  if (usage === undefined) throw new Error("no usage");
  const { id, created, model, system_fingerprint } = first;
  const choices = drafts.map((draft, index) => toChoice(draft, index, withLogprobs));
  return { id, object: "chat.completion", created, model, system_fingerprint, choices, usage };
}

function addDelta(
  drafts: Draft[],
  { index, delta, logprobs, finish_reason, fingerprint }: ChatCompletionChunkResponse["choices"][number],
) {
  if (delta.role !== undefined) {
    if (drafts[index] !== undefined) throw new Error("a choice begins twice");
    drafts[index] = { content: "", reasoning: undefined, tokens: [], calls: [], reason: null };
  }
  const draft = drafts[index];
  if (draft === undefined) throw new Error("a choice begins without its role");
  if (draft.reason !== null) throw new Error("a choice goes on after its finish reason");
  draft.content += delta.content ?? "";
  draft.tokens.push(...(logprobs?.content ?? []));
  if (delta.reasoning_content !== undefined)
    draft.reasoning = (draft.reasoning ?? "") + delta.reasoning_content;
  for (const call of delta.tool_calls ?? []) {
    draft.calls[call.index] ??= {
      id: call.id ?? "",
      name: call.function?.name ?? call.custom?.name ?? "",
      args: "",
    };
    const made = draft.calls[call.index];
    if (made !== undefined) made.args += call.function?.arguments ?? call.custom?.input ?? "";
  }
  draft.reason = finish_reason;
  if (fingerprint !== undefined) draft.fingerprint = fingerprint;
}

function toChoice(
  draft: Draft,
  index: number,
  withLogprobs: boolean,
): ChatCompletionResponse["choices"][number] {
  const { content, reasoning, tokens, calls, reason, fingerprint } = draft;
  if (reason !== "stop" && reason !== "length" && reason !== "tool_calls")
    throw new Error("no finish reason");
  return {
    index,
    message: {
      role: "assistant",
      content: content === "" && calls.length > 0 ? null : content,
      refusal: null,
      ...defined({ reasoning_content: reasoning }),
      ...(calls.length === 0
        ? {}
        : {
            tool_calls: calls.map(({ id, name, args }) => ({
              id,
              type: "function" as const,
              function: { name, arguments: args },
            })),
          }),
    },
    logprobs: withLogprobs ? { content: tokens, refusal: null } : null,
    finish_reason: reason,
    ...defined({ fingerprint }),
  };
}
