// What requests to a model get where they do not say: its presets, by whose word each is.

import { SAMPLING_NAMES } from "../../src/core/sampling.ts";
import { formatNumber } from "../format.ts";
import type { ModelCard } from "../state/model-card.ts";
import { t } from "../texts/texts.ts";

/** The strongest first. */
const SOURCES = ["alias", "settings", "file", "repository", "svc"] as const;

/** One line for each source. Older servers name none. */
export function ModelDefaults({ card: { defaults, defaults_from: from } }: { readonly card: ModelCard }) {
  const all = defaults ? defaultsOf(defaults) : [];
  const lines = [undefined, ...SOURCES].flatMap((source) => {
    const parts = all.filter(([field]) => from?.[field] === source).map(([, text]) => text);
    const title = source === undefined ? t.models.defaultsTitle : t.models.defaultsOf[source];
    return parts.length === 0 ? [] : [`${title}: ${parts.join(" · ")}`];
  });
  return (
    <>
      {lines.map((line) => (
        <p key={line} class="faint">
          {line}
        </p>
      ))}
    </>
  );
}

/** Each default's field and its words. */
function defaultsOf(
  defaults: NonNullable<ModelCard["defaults"]>,
): readonly (readonly [field: string, text: string])[] {
  const { stop = [], system = false, thinking, summary_model: writer } = defaults;
  const numbers = [
    ...SAMPLING_NAMES.map((name) => [name, t.settings.options[name]] as const),
    ["max_tokens", t.settings.maxTokens] as const,
    ["thinking_budget", t.models.thinkingBudget] as const,
    ["compact_at", t.models.compactAt] as const,
  ];
  return [
    ...(system ? [["system", t.settings.system] as const] : []),
    ...numbers.flatMap(([name, label]) => {
      const value = defaults[name];
      return value === undefined ? [] : [[name, `${label} ${formatNumber(value)}`] as const];
    }),
    ...(writer === undefined ? [] : [["summary_model", t.models.summariesBy(writer)] as const]),
    ...(stop.length === 0 ? [] : [["stop", t.models.stops(stop.length)] as const]),
    ...(thinking === undefined
      ? []
      : [["thinking", thinking ? t.models.reasons : t.models.reasonsNot] as const]),
  ];
}
