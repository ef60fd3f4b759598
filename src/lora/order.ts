// The file that lists several adapters to apply together (`legacy_lora_order`).

import { readFileSync } from "node:fs";
import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";

/** Other members are ignored. */
const OrderFile = Type.Object({
  order: Type.Array(Type.String({ pattern: "^[^/\\\\.][^/\\\\]*$" }), { minItems: 1, uniqueItems: true }),
});

/** Folder names, in order. Throws an Error that names the file if it has another form. */
export function readOrder(path: string): readonly string[] {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw new Error(`legacy_lora_order: ${path} cannot be read as JSON. Check the path and its content.`, {
      cause: error,
    });
  }
  if (Value.Check(OrderFile, value)) return value.order;
  throw new Error(
    `legacy_lora_order: ${path} must hold {"order": ["NAME", …]} with names of folders in legacy_lora.`,
  );
}
