// The wire form of edits of a conversation, the same in every dialect and between servers.

import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { type AppliedEdit, isInstruction, keptText, withSummary } from "./applied-edit.ts";
import { unreachable } from "./assert.ts";
import type { Message } from "./message.ts";

export const ContextManagement = Type.Object(
  {
    applied_edits: Type.Array(
      Type.Object(
        {
          type: Type.String({ description: "Kind of the edit." }),
          cleared_input_tokens: Type.Integer({ minimum: 0, description: "Prompt tokens that it saved." }),
          cleared_tool_uses: Type.Optional(Type.Integer({ minimum: 0, description: "Results left out." })),
          cleared_thinking_turns: Type.Optional(
            Type.Integer({ minimum: 0, description: "Turns whose reasoning was left out." }),
          ),
          summary: Type.Optional(Type.String({ description: "Text in the place of old messages." })),
          summarized_messages: Type.Optional(
            Type.Integer({ minimum: 0, description: "Messages that the summary stands for." }),
          ),
          summary_input_tokens: Type.Optional(
            Type.Integer({ minimum: 0, description: "Tokens read for the summary; part of the usage." }),
          ),
          summary_output_tokens: Type.Optional(
            Type.Integer({ minimum: 0, description: "Tokens of the summary; part of the usage." }),
          ),
        },
        { description: "An edit." },
      ),
    ),
  },
  { $id: "ContextManagement", description: "Edits of the conversation before the model saw it." },
);

/** The wire form of edits. */
export function contextManagementBody(edits: readonly AppliedEdit[]): Static<typeof ContextManagement> {
  return { applied_edits: edits.map(editBody) };
}

function editBody(edit: AppliedEdit): Static<typeof ContextManagement>["applied_edits"][number] {
  const saved = { cleared_input_tokens: edit.tokens };
  switch (edit.type) {
    case "clear_tool_uses":
      return { type: "clear_tool_uses_20250919", cleared_tool_uses: edit.uses, ...saved };
    case "clear_thinking":
      return { type: "clear_thinking_20251015", cleared_thinking_turns: edit.turns, ...saved };
    case "compaction":
      return {
        type: "compact_20260112",
        ...saved,
        summary: edit.summary,
        summarized_messages: edit.replaced,
        summary_input_tokens: edit.spent.promptTokens,
        summary_output_tokens: edit.spent.completionTokens,
      };
    default:
      return unreachable(edit);
  }
}

/** The edits of a body that answers a conversation; none where it is of another form. */
export function editsIn(body: unknown, messages: readonly Message[]): readonly AppliedEdit[] {
  if (!Value.Check(ContextManagement, body)) return [];
  return body.applied_edits.flatMap((edit) => editOf(edit, messages));
}

function editOf(
  body: Static<typeof ContextManagement>["applied_edits"][number],
  messages: readonly Message[],
): readonly AppliedEdit[] {
  const { cleared_input_tokens: tokens, summary = "", summarized_messages: replaced = 0 } = body;
  switch (body.type) {
    case "clear_tool_uses_20250919":
      return [{ type: "clear_tool_uses", uses: body.cleared_tool_uses ?? 0, tokens }];
    case "clear_thinking_20251015":
      return [{ type: "clear_thinking", turns: body.cleared_thinking_turns ?? 0, tokens }];
    case "compact_20260112": {
      const { summary_input_tokens: promptTokens = 0, summary_output_tokens: completionTokens = 0 } = body;
      const talk = messages.filter((message) => !isInstruction(message));
      const kept = keptText(withSummary(talk, replaced, summary));
      return [
        {
          type: "compaction",
          summary,
          replaced,
          kept,
          tokens,
          spent: { promptTokens, cachedTokens: 0, completionTokens },
        },
      ];
    }
    default:
      return [];
  }
}
