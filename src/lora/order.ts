// The file that names several adapters which are applied together.

import { readFileSync } from "node:fs";
import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";

/** Other members, which the programs that write such files know, mean nothing here. */
const OrderFile = Type.Object({
  order: Type.Array(Type.String({ pattern: "^[^/\\\\.][^/\\\\]*$" }), { minItems: 1, uniqueItems: true }),
});

/** Names of folders, in order. Throws an Error that names the file when it is none of this form. */
export function readOrder(path: string): readonly string[] {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new Error(`legacy_lora_order: ${path} is not a JSON file that can be read.`, { cause: error });
  }
  if (Value.Check(OrderFile, value)) return value.order;
  throw new Error(
    `legacy_lora_order: ${path} must hold {"order": ["NAME", …]} with names of folders in legacy_lora.`,
  );
}
