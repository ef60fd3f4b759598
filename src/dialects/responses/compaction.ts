// Compactions as output items.

import { type Static, Type } from "@sinclair/typebox";
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
