// Ids of items. They are made from the id of their response and a position, so that nothing here needs chance, and an
// item that a client refers to leads to the response that holds it.

import { type IdPrefix } from "../../core/id.ts";

const RESPONSE: IdPrefix = "resp_";

/** Prefixes of output items, as the base dialect has them. */
type ItemPrefix = "msg" | "rs" | "fc" | "sc" | "sco";

const ITEM_ID = /^[a-z]+_([0-9A-Za-z]{24})_i?[0-9]+$/;

/** Id of the output item at a position. */
export function outputItemId(prefix: ItemPrefix, responseId: string, index: number): string {
  return `${prefix}_${responseId.slice(RESPONSE.length)}_${index}`;
}

/** Id of the input item at a position, for items that came without one. */
export function inputItemId(type: string, responseId: string, index: number): string {
  return `${type === "message" ? "msg" : "item"}_${responseId.slice(RESPONSE.length)}_i${index}`;
}

/** The response that an item belongs to, or undefined for an id that is none of ours. */
export function responseOfItem(itemId: string): string | undefined {
  const key = ITEM_ID.exec(itemId)?.[1];
  return key === undefined ? undefined : `${RESPONSE}${key}`;
}

/** The container whose files a response cites. */
export function containerId(responseId: string): string {
  return `cntr_${responseId.replace(/[^A-Za-z0-9_-]/g, "_")}`;
}
