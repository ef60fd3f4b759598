// Which devices hold a model's layers, and the memory that it takes of each.

import { type Static, Type } from "@sinclair/typebox";
import { bytes } from "./schema-fields.ts";

export const ModelPlacement = Type.Object(
  {
    layers: Type.Integer({ minimum: 1, description: "Layers of the model; the output layer is one." }),
    device_layers: Type.Integer({
      minimum: 0,
      description: "Those of them on devices; fewer than all: the rest is computed on the CPU.",
    }),
    divided_layers: Type.Integer({
      minimum: 0,
      description: "Layers on devices whose experts, or a part of them, are on the CPU.",
    }),
    devices: Type.Array(
      Type.Object({
        device: Type.String({ description: "As in `devices` of the machine." }),
        description: Type.String({ description: "Full name, as its driver reports it." }),
        weights_bytes: bytes("Weights that it holds"),
        cache_bytes: bytes("KV cache that it holds"),
        compute_bytes: bytes("Buffers of a pass"),
        estimated_bytes: bytes("All three as they were estimated before loading"),
      }),
      { description: "Devices of the model, the CPU last." },
    ),
  },
  { $id: "ModelPlacement", description: "Where the layers of a model are." },
);
export type ModelPlacement = Static<typeof ModelPlacement>;

/** Left free on each device, bytes; an eighth of the memory of small ones. */
export const DEVICE_RESERVE_BYTES = 2 ** 30;

/** What models may take of a device with this memory, bytes. */
export function usableBytes({
  memory_free: free,
  memory_total: total,
}: {
  readonly memory_free: number;
  readonly memory_total: number;
}): number {
  return Math.max(0, free - Math.min(DEVICE_RESERVE_BYTES, total / 8));
}

/** Where the layers are computed, in a phrase. */
export function placementPhrase(placement: ModelPlacement): string {
  const { layers, device_layers: placed, devices } = placement;
  if (placed === 0) return "on the CPU";
  const where = devices.slice(0, -1).map(({ device }) => device);
  const count = placed < layers ? `${placed} of ${layers} layers ` : "";
  return `${count}on ${where.join(" and ")}${restPhrase(placement)}`;
}

/** What of a model on devices is on the CPU, as the end of a phrase. */
export function restPhrase({
  layers,
  device_layers: placed,
  divided_layers: divided,
}: Pick<ModelPlacement, "layers" | "device_layers" | "divided_layers">): string {
  const parts = [...(divided > 0 ? ["experts"] : []), ...(placed < layers ? ["the rest"] : [])];
  return parts.length === 0 ? "" : `, ${parts.join(" and ")} on the CPU`;
}
