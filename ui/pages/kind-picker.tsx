// Selects an image or speech model.

import type { ModelKind } from "../state/model-card.ts";
import { modelsFor } from "../state/capabilities.ts";
import { models } from "../state/models.ts";
import { SelectField } from "../view/fields.tsx";
import { t } from "../texts/texts.ts";

interface KindPickerProps {
  readonly label: string;
  readonly kind: ModelKind;
  /** "": the server's default model. */
  readonly value: string;
  readonly onChange: (model: string) => void;
}

export function KindPicker({ label, kind, value, onChange }: KindPickerProps) {
  const cards = modelsFor(kind);
  const isGone = value !== "" && models.value !== undefined && !cards.some(({ id }) => id === value);
  // Older servers have no kinds on their cards, so their default model of this kind is unknown.
  const first = cards.find((card) => card.kind === kind);
  const options = [
    ["", first === undefined ? t.common.default : t.common.defaultIs(first.id)],
    ...(isGone ? [[value, t.common.unavailable(value)] as const] : []),
    ...cards.map(({ id, status }) => [id, status === "unloaded" ? t.common.notLoaded(id) : id] as const),
  ] as const;
  return <SelectField {...{ label, value, onChange, options }} />;
}
