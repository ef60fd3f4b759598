// Selects the model or adapter of the conversation, from a list with search.

import { ChevronDown } from "lucide";
import { useState } from "preact/hooks";
import { type ModelCard, grouped, ofKind } from "../state/model-card.ts";
import { models, modelsError } from "../state/models.ts";
import { change, current } from "../state/conversations.ts";
import { setPrefs } from "../state/prefs.ts";
import { Finder, type FinderEntry } from "./finder.tsx";
import { Icon } from "./icon.tsx";
import { modelFacts, stateName } from "./model-facts.ts";
import { t } from "../texts/texts.ts";

/** Models shown at once. */
const SHOWN_MAX = 100;

export function ModelPicker() {
  const [isOpen, setOpen] = useState(false);
  const conversation = current.value;
  const cards = ofKind(models.value ?? [], "text");
  if (conversation === undefined) return null;
  const { id, model } = conversation;
  const [first] = cards;
  const isGone = model !== "" && models.value !== undefined && !cards.some((card) => card.id === model);
  const choose = (next: string): void => {
    change(id, (before) => ({ ...before, model: next }));
    setPrefs({ model: next });
  };
  const byDefault = first === undefined ? t.models.defaultModel : t.common.defaultIs(first.id);
  const entries: readonly FinderEntry[] = [
    { name: byDefault, note: "", isChosen: model === "", run: () => choose("") },
    ...grouped(cards)
      .flatMap(({ base, adapters }) => [base, ...adapters])
      .map((card): FinderEntry => ({
        name: nameOf(card),
        note: stateName(card.status ?? "loaded"),
        detail: modelFacts(card).join(" · "),
        isChosen: card.id === model,
        run: () => choose(card.id),
      })),
  ];
  const shown = cards.find((card) => card.id === model);
  const name = isGone ? t.common.unavailable(model) : shown === undefined ? byDefault : nameOf(shown);
  return (
    <>
      <button
        type="button"
        class="ghost model-picker"
        aria-label={t.models.chosen(name)}
        aria-haspopup="dialog"
        title={modelsError.value ?? t.common.model}
        onClick={() => setOpen(true)}
      >
        <span>{name}</span>
        <Icon node={ChevronDown} size={15} />
      </button>
      {isOpen && (
        <Finder
          label={t.models.choose}
          search={t.models.searchServed}
          matches={t.pages.models}
          none={t.models.noneServed}
          most={SHOWN_MAX}
          {...{ entries }}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  );
}

function nameOf({ id, root, parent }: ModelCard): string {
  return parent && root ? t.models.adapterOf(root, parent) : id;
}
