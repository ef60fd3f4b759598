// Ids of items, derived from the id of their response and a position: deterministic, and an item id identifies its
// response.

import { type IdPrefix } from "../../core/id.ts";

const RESPONSE: IdPrefix = "resp_";

/** Prefixes of output item ids, as in OpenAI's API. */
type ItemPrefix = "msg" | "rs" | "fc" | "ctc" | "sc" | "sco" | "tsc" | "tso" | "cmp";

const ITEM_ID = /^[a-z]+_([0-9A-Za-z]{24})_i?[0-9]+$/;

/** Id of the output item at a position. */
export function outputItemId(prefix: ItemPrefix, responseId: string, index: number): string {
  return `${prefix}_${responseId.slice(RESPONSE.length)}_${index}`;
}

/** Id of the input item at a position, for items sent without an id. */
export function inputItemId(type: string, responseId: string, index: number): string {
  return `${type === "message" ? "msg" : "item"}_${responseId.slice(RESPONSE.length)}_i${index}`;
}

/** Id of the response that an item belongs to; undefined for an id that svc did not make. */
export function responseOfItem(itemId: string): string | undefined {
  const key = ITEM_ID.exec(itemId)?.[1];
  return key === undefined ? undefined : `${RESPONSE}${key}`;
}

/** Container id of the files that a response cites. */
export function containerId(responseId: string): string {
  return `cntr_${responseId.replace(/[^A-Za-z0-9_-]/g, "_")}`;
}
