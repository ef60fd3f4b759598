// A model of the hub as an entry of a configuration.

import type { HubModelChoice, HubRepositoryDetails } from "./hub.ts";
import { sizeText } from "./size-text.ts";

/** A `[[models]]` entry, whose context is the longest that fits. */
export function modelEntry({ commit, estimate }: HubRepositoryDetails, model: HubModelChoice): string {
  const { id, context_fits: fits, layers, device_layers: placed, memory } = model;
  const trained = memory.at(-1)?.context_tokens;
  const why =
    estimate.recommended === id ? estimate.reason : `${sizeText(model.size_bytes)}, quality ${model.quality}`;
  const at = id.indexOf(":") < 0 ? id.length : id.indexOf(":");
  const pinned = id.includes("@") ? id : `${id.slice(0, at)}@${commit}${id.slice(at)}`;
  const lines = [
    `# ${why.replaceAll(/\s/g, " ")}`,
    "[[models]]",
    `model_id = ${JSON.stringify(pinned)}`,
    ...(fits !== null && fits > 0 && fits < (trained ?? 0) ? [`device.max_seq_len = ${fits}`] : []),
    ...(placed !== null && placed > 0 && placed < (layers ?? 0) ? [`device.device_layers = ${placed}`] : []),
  ];
  return `${lines.join("\n")}\n`;
}
