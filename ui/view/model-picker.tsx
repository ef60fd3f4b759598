// Selects the model or adapter of the conversation.

import { type ModelCard, grouped, ofKind } from "../state/model-card.ts";
import { models, modelsError } from "../state/models.ts";
import { change, current } from "../state/conversations.ts";
import { setPrefs } from "../state/prefs.ts";
import { t } from "../texts/texts.ts";

export function ModelPicker() {
  const conversation = current.value;
  const cards = ofKind(models.value ?? [], "text");
  if (conversation === undefined) return null;
  const { id, model } = conversation;
  const isGone = model !== "" && models.value !== undefined && !cards.some((card) => card.id === model);
  const choose = (next: string): void => {
    change(id, (before) => ({ ...before, model: next }));
    setPrefs({ model: next });
  };
  return (
    <select
      class="model-picker"
      aria-label={t.common.model}
      title={modelsError.value ?? t.common.model}
      value={model}
      onChange={({ currentTarget }) => choose(currentTarget.value)}
    >
      <option value="">
        {cards[0] === undefined ? t.models.defaultModel : t.common.defaultIs(cards[0].id)}
      </option>
      {isGone && <option value={model}>{t.common.unavailable(model)}</option>}
      {grouped(cards).map(({ base, adapters }) =>
        adapters.length === 0 ? (
          <ModelOption card={base} />
        ) : (
          <optgroup label={base.id}>
            <ModelOption card={base} />
            {adapters.map((card) => (
              <ModelOption card={card} />
            ))}
          </optgroup>
        ),
      )}
    </select>
  );
}

function ModelOption({ card: { id, root, parent, status } }: { readonly card: ModelCard }) {
  const name = parent && root ? t.models.adapter(root) : id;
  return <option value={id}>{status === "unloaded" ? t.common.notLoaded(name) : name}</option>;
}
