// Compactions as output items.

import { type Static, Type } from "@sinclair/typebox";
import type { ContextEdits } from "../../core/agent.ts";
import { ServiceError } from "../../core/error.ts";
import { isObject } from "../../core/json.ts";
import { type Compaction, opaqueText } from "../shared/compaction.ts";

export const CompactionItem = Type.Object(
  {
    type: Type.Literal("compaction"),
    id: Type.String({ description: "Id of the item." }),
    status: Type.Union([Type.Literal("in_progress"), Type.Literal("completed"), Type.Literal("incomplete")], {
      description: "State of the item.",
    }),
    encrypted_content: Type.String({
      description: "Opaque text; send the item back. It stands for all items before it.",
    }),
  },
  { $id: "CompactionItem", description: "A summary in the place of old turns." },
);
export type CompactionItem = Static<typeof CompactionItem>;

/** The item of a compaction. */
export function compactionItem(id: string, edit: Compaction): CompactionItem {
  return { type: "compaction", id, status: "completed", encrypted_content: opaqueText(edit) };
}

/** Compacts whatever the length of the conversation; nothing is answered. */
export function wholeCompaction(body: { readonly summary_model?: unknown }): ContextEdits {
  const { summary_model: model } = body;
  return { compact: { tokens: 1, pauses: "always", ...(typeof model === "string" ? { model } : {}) } };
}

/** Whether an input ends with the item that asks for a compaction. Throws where it is elsewhere. */
export function hasTrigger(input: unknown): boolean {
  const items: readonly unknown[] = Array.isArray(input) ? input : [];
  const at = items.findIndex((item) => isObject(item) && item["type"] === "compaction_trigger");
  if (at >= 0 && at < items.length - 1) {
    const param = `input[${at}]`;
    const message = `${param} is a compaction_trigger before other items; send it as the last item`;
    throw new ServiceError("invalid_request", message, { param });
  }
  return at >= 0;
}
