// What requests to a model get where they do not say: its presets.

import { formatNumber } from "../format.ts";
import type { ModelCard } from "../state/model-card.ts";
import { t } from "../texts/texts.ts";

export function ModelDefaults({ card: { defaults } }: { readonly card: ModelCard }) {
  const parts = defaults ? defaultsOf(defaults) : [];
  return parts.length === 0 ? null : <p class="faint">{t.models.defaults(parts.join(" · "))}</p>;
}

function defaultsOf(defaults: NonNullable<ModelCard["defaults"]>): readonly string[] {
  const { stop = [], system = false, thinking } = defaults;
  const numbers = [
    ["temperature", t.settings.temperature],
    ["top_p", t.settings.topP],
    ["top_k", t.settings.topK],
    ["min_p", t.settings.minP],
    ["presence_penalty", t.settings.presence],
    ["frequency_penalty", t.settings.frequency],
    ["repetition_penalty", t.settings.repetition],
    ["max_tokens", t.settings.maxTokens],
  ] as const;
  return [
    ...(system ? [t.settings.system] : []),
    ...numbers.flatMap(([name, label]) => {
      const value = defaults[name];
      return value === undefined ? [] : [`${label} ${formatNumber(value)}`];
    }),
    ...(stop.length === 0 ? [] : [t.models.stops(stop.length)]),
    ...(thinking === undefined ? [] : [thinking ? t.models.reasons : t.models.reasonsNot]),
  ];
}
