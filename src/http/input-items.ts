// One page of a response's input items.

import { type Static, Type } from "@sinclair/typebox";
import { invalidField } from "../core/error.ts";
import { INPUT_ITEMS_PAGE_MAX } from "./limits.ts";
import { numberIn } from "./query-number.ts";
import type { StoredItem } from "../responses/store.ts";

const ITEMS_A_PAGE = 20;

const itemId = Type.Union([Type.String(), Type.Null()], {
  description: "Id of the item at this end of the page.",
});

export const InputItemList = Type.Object(
  {
    object: Type.Literal("list"),
    data: Type.Array(Type.Record(Type.String(), Type.Unknown()), { description: "The items." }),
    first_id: itemId,
    last_id: itemId,
    has_more: Type.Boolean({ description: "Whether the list goes on." }),
  },
  { $id: "InputItemList", description: "Input items of a response." },
);

/** The page that a query asks for; the latest items first unless `order` says otherwise. */
export function listInputItems(
  items: readonly StoredItem[],
  query: URLSearchParams,
): Static<typeof InputItemList> {
  const order = query.get("order") ?? "desc";
  if (order !== "asc" && order !== "desc") throw invalidField("order", "must be asc or desc");
  const ordered = order === "asc" ? items : items.toReversed();
  const after = query.get("after");
  const begin = after === null ? 0 : ordered.findIndex(({ id }) => id === after) + 1;
  if (after !== null && begin === 0)
    throw invalidField("after", "must be the id of an item of this response");
  const limit = numberIn(query, "limit", { min: 1, max: INPUT_ITEMS_PAGE_MAX }) ?? ITEMS_A_PAGE;
  const page = ordered.slice(begin, begin + limit);
  return {
    object: "list",
    data: page.map((item) => ({ ...item })),
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
    has_more: begin + page.length < ordered.length,
  };
}
