// Which model draws, or speaks.

import type { ModelKind } from "../state/model-card.ts";
import { modelsFor } from "../state/abilities.ts";
import { models } from "../state/models.ts";
import { SelectField } from "../view/fields.tsx";

interface KindPickerProps {
  readonly label: string;
  readonly kind: ModelKind;
  /** "" is the server's default one. */
  readonly value: string;
  readonly onChange: (model: string) => void;
}

export function KindPicker({ label, kind, value, onChange }: KindPickerProps) {
  const cards = modelsFor(kind);
  const isGone = value !== "" && models.value !== undefined && !cards.some(({ id }) => id === value);
  // A server that does not say what its models make has a default one for this, but not the first of all.
  const first = cards.find((card) => card.kind === kind);
  const options = [
    ["", first === undefined ? "Default" : `Default: ${first.id}`],
    ...(isGone ? [[value, `${value} (not served now)`] as const] : []),
    ...cards.map(({ id, status }) => [id, status === "unloaded" ? `${id} · not loaded` : id] as const),
  ] as const;
  return <SelectField {...{ label, value, onChange, options }} />;
}
