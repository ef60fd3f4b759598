// What requests to a model get where they do not say: its presets.

import { SAMPLING_NAMES } from "../../src/core/sampling.ts";
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
    ...SAMPLING_NAMES.map((name) => [name, t.settings.options[name]] as const),
    ["max_tokens", t.settings.maxTokens] as const,
  ];
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
