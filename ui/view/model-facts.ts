// Words for what a model is, can do and takes.

import { formatBytes, formatTokens } from "../format.ts";
import type { ModelCard } from "../state/model-card.ts";
import { t } from "../texts/texts.ts";

const ABILITIES = ["tools", "vision", "audio", "reasoning", "embeddings"] as const;

/** Abilities, context, type and size of a model, as far as they are known. `of`: what its files say. */
export function modelFacts(
  card: ModelCard,
  of: Pick<ModelCard, "quantization" | "size_bytes"> = card,
): string[] {
  const { capabilities, chat_template: template } = card;
  const context = card.context_length ?? card.trained_context_length;
  const quantization = of.quantization ?? card.quantization;
  const size = of.size_bytes ?? card.size_bytes;
  return [
    ...ABILITIES.filter((name) => capabilities?.[name] === true).map((name) => t.models.abilities[name]),
    ...(template === "none" && capabilities?.embeddings !== true ? [t.models.baseModel] : []),
    ...(context ? [t.models.context(formatTokens(context))] : []),
    ...(quantization ? [quantization] : []),
    ...(size ? [formatBytes(size)] : []),
  ];
}

/** Name of a model's state; that of a newer server as it is. */
export function stateName(status: string): string {
  const names: Readonly<Record<string, string>> = t.models.states;
  return names[status] ?? status;
}
