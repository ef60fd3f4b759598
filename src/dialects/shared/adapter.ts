// The `adapter` request field and the adapter fields of answers. Knows no adapter registry.

import { type Static, Type } from "@sinclair/typebox";
import type { AdapterSelection as CoreSelection } from "../../core/adapter.ts";
import { orNull } from "../../core/schema-fields.ts";
import { isPresent } from "./check.ts";

const AdapterGenerationSelection = Type.Object(
  {
    generation: Type.String({
      description: "Id of a generation, as `GET /v1/lora_adapters` lists it.",
      minLength: 1,
    }),
  },
  { $id: "AdapterGenerationSelection", description: "Exactly this generation.", additionalProperties: true },
);
const AdapterSelection = Type.Union([Type.String({ minLength: 1 }), AdapterGenerationSelection], {
  $id: "AdapterSelection",
  description: "Alias of a loaded LoRA adapter, or one of its generations; null selects the base model.",
});

/** Properties to spread into a dialect's request schema. */
export const adapterProperties = { adapter: orNull(AdapterSelection) };

const AdapterFields = Type.Object(adapterProperties);

/** The adapter selection of a checked body, to spread into a run. */
export function adapterOf({ adapter }: Static<typeof AdapterFields>): { readonly adapter?: CoreSelection } {
  if (!isPresent(adapter)) return {};
  return { adapter: typeof adapter === "string" ? { alias: adapter } : { generation: adapter.generation } };
}

/** Properties to spread into the schemas of bodies and chunks. */
export const adapterAnswerProperties = {
  adapter_generation: Type.Optional(
    Type.String({ description: "Generation of the adapter used; absent for the base model." }),
  ),
};
