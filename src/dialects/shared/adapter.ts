// The `adapter` field of chat and completions.

import { type Static, Type } from "@sinclair/typebox";
import { ServiceError } from "../../core/error.ts";
import { orNull } from "./check.ts";

const AdapterGenerationSelection = Type.Object(
  { generation: Type.String({ minLength: 1 }) },
  { $id: "AdapterGenerationSelection", description: "Exactly this generation.", additionalProperties: true },
);
const AdapterSelection = Type.Union([Type.String({ minLength: 1 }), AdapterGenerationSelection], {
  $id: "AdapterSelection",
  description: "Alias of a loaded LoRA adapter, or one of its generations; null is the base model.",
});

/** Properties to spread into a dialect's request schema. */
export const adapterProperties = { adapter: orNull(AdapterSelection) };

const AdapterFields = Type.Object(adapterProperties);

/** Throws `lora_runtime_unavailable` for any adapter: no model of this build has a dynamic LoRA runtime. */
export function refuseAdapter({ adapter }: Static<typeof AdapterFields>): void {
  if (adapter === undefined || adapter === null) return;
  throw new ServiceError(
    "lora_runtime_unavailable",
    "adapter needs a model with a dynamic LoRA runtime, which this one does not have; omit it",
    { param: "adapter" },
  );
}
