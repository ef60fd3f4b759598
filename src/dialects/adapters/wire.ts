// Converts bodies of the LoRA adapter routes to and from core types.

import type { Json } from "../../core/json.ts";
import type { AdapterEntry, AdapterList, AdapterLoad } from "../../core/adapter.ts";
import { defined } from "../../core/defined.ts";
import { checker, isPresent } from "../shared/check.ts";
import {
  LoadLoraAdapterRequest,
  type LoraAdapterListResponse,
  type LoraAdapterObject,
  UnloadLoraAdapterRequest,
} from "./schema.ts";

const checkLoad = checker(LoadLoraAdapterRequest);
const checkUnload = checker(UnloadLoraAdapterRequest);

/** Parses the body of a load request; throws a ServiceError naming the field at fault. */
export function parseAdapterLoad(json: Json): { readonly model: string; readonly load: AdapterLoad } {
  const body = checkLoad(json);
  return {
    model: body.model ?? "default",
    load: {
      alias: body.lora_name,
      source: body.lora_path,
      inPlace: body.load_inplace ?? false,
      ...(isPresent(body.expected_generation) ? { expectedGeneration: body.expected_generation } : {}),
    },
  };
}

/** Parses the body of an unload request; throws a ServiceError naming the field at fault. */
export function parseAdapterUnload(json: Json): {
  readonly model: string;
  readonly alias: string;
  readonly expectedGeneration: string | undefined;
} {
  const { model, lora_name: alias, expected_generation: expected } = checkUnload(json);
  return { model: model ?? "default", alias, expectedGeneration: expected ?? undefined };
}

/** The wire form of an adapter. Its source may be a path of the server, so it is omitted unless `withSource`. */
export function adapterObject(entry: AdapterEntry, withSource: boolean): LoraAdapterObject {
  const { alias, generation, rank, bytes, revision, source } = entry;
  return {
    id: alias,
    object: "lora_adapter",
    generation,
    rank,
    bytes,
    ...defined({ revision }),
    ...(withSource ? { source } : {}),
  };
}

/** The wire form of a model's adapters. */
export function adapterListBody(
  { entries, generations, limits }: AdapterList,
  withSource: boolean,
): LoraAdapterListResponse {
  return {
    object: "list",
    data: entries.map((entry) => adapterObject(entry, withSource)),
    generations: generations.map(({ activeLeases, aliases, ...record }) => ({
      ...record,
      aliases: [...aliases],
      active_leases: activeLeases,
    })),
    resident_generations: generations.length,
    retired_generations: generations.filter(({ retired }) => retired).length,
    resident_bytes: generations.reduce((sum, { bytes }) => sum + bytes, 0),
    max_adapters: limits.adaptersMax,
    max_rank: limits.rankMax,
    max_bytes: limits.bytesMax,
  };
}
