// Edits of conversations on the wire: what requests ask for, and compactions as opaque text that clients send back.

import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { ContextEdits, InputMessage } from "../../core/agent.ts";
import { type AppliedEdit, SUMMARY_HEADER } from "../../core/applied-edit.ts";
import type { Message } from "../../core/message.ts";
import { orNull } from "../../core/schema-fields.ts";
import { isPresent } from "./check.ts";

/** Property of all dialects with conversations. */
export const compactProperties = {
  compact_at: orNull(
    Type.Number({
      minimum: 0.1,
      maximum: 0.8,
      description:
        "Share of the model's context above which the oldest turns become a summary that the model writes. Absent: never.",
    }),
  ),
  summary_model: orNull(
    Type.String({ minLength: 1, description: "Model that writes summaries. Absent: the one that answers." }),
  ),
};
const Fields = Type.Object(compactProperties);

export type Compaction = Extract<AppliedEdit, { type: "compaction" }>;

/** The edits of `compact_at`. */
export function compactAtOf(body: Static<typeof Fields>): { readonly edits?: ContextEdits } {
  const { compact_at: share } = body;
  return withSummaryModel(isPresent(share) ? { compact: { share } } : undefined, body);
}

/** The edits with the model that a body names for summaries. */
export function withSummaryModel(
  edits: ContextEdits | undefined,
  { summary_model: model }: Static<typeof Fields>,
): { readonly edits?: ContextEdits } {
  if (edits === undefined) return {};
  const { compact } = edits;
  return {
    edits: compact === undefined || !isPresent(model) ? edits : { ...edits, compact: { ...compact, model } },
  };
}

const PREFIX = "svc1.";
/** Characters of an opaque text; a conversation within the context is smaller. */
const CHARS_MAX = 8_000_000;

const Kept = Type.Array(
  Type.Object(
    {
      role: Type.Union([Type.Literal("user"), Type.Literal("assistant"), Type.Literal("tool")]),
      content: Type.Array(
        Type.Object({ type: Type.Literal("text"), text: Type.String() }, { additionalProperties: false }),
      ),
      reasoning: Type.Optional(Type.String()),
      toolCalls: Type.Optional(
        Type.Array(
          Type.Object(
            {
              id: Type.String(),
              name: Type.String(),
              namespace: Type.Optional(Type.String()),
              arguments: Type.String(),
            },
            { additionalProperties: false },
          ),
        ),
      ),
      toolCallId: Type.Optional(Type.String()),
      name: Type.Optional(Type.String()),
    },
    { additionalProperties: false },
  ),
  { minItems: 1 },
);

/** The conversation after a compaction as opaque text. */
export function opaqueText({ kept }: Compaction): string {
  return PREFIX + Buffer.from(JSON.stringify(kept)).toString("base64url");
}

/** The conversation of an opaque text; undefined for one of another server. */
export function fromOpaqueText(text: unknown): readonly Message[] | undefined {
  if (typeof text !== "string" || !text.startsWith(PREFIX) || text.length > CHARS_MAX) return undefined;
  let kept: unknown;
  try {
    kept = JSON.parse(Buffer.from(text.slice(PREFIX.length), "base64url").toString("utf8"));
  } catch {
    return undefined;
  }
  if (!Value.Check(Kept, kept)) return undefined;
  const [first, ...rest] = kept as readonly Message[];
  return first === undefined ? undefined : [{ ...first, replacesEarlier: true }, ...rest];
}

/** A summary in words, which stands for all before it. */
export function fromSummary(text: string): Message {
  return {
    role: "user",
    content: [{ type: "text", text: `${SUMMARY_HEADER}\n${text}` }],
    replacesEarlier: true,
  };
}

/** The messages of a compaction and those after it, without turns that both have: clients send the last ones again. */
export function joinedOnce(
  kept: readonly InputMessage[],
  after: readonly InputMessage[],
): readonly InputMessage[] {
  const [mine, theirs] = [kept.map(wordsOf), after.map(wordsOf)];
  const starts = (words: readonly string[], at: number, begin: readonly string[]): boolean =>
    begin.every((word, index) => words[at + index] === word);
  const [first] = kept;
  const all = theirs.findIndex((_, at) => starts(theirs, at, mine));
  if (first !== undefined && all > 0) return [{ ...first, content: first.content.slice(0, 1) }, ...after];
  const shared = mine.findIndex((_, at) => starts(theirs, 0, mine.slice(at)));
  return [...kept, ...after.slice(shared < 0 ? 0 : mine.length - shared)];
}

function wordsOf({ role, content, toolCalls = [], toolCallId, replacesEarlier }: InputMessage): string {
  const own = replacesEarlier === true ? content.slice(1) : content; // the first part is the summary
  return JSON.stringify([role, own, toolCalls, toolCallId]);
}
