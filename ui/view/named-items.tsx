// A list of named things as buttons, such as assistants, each with a button that removes it where that is offered.

import { type IconNode, X } from "lucide";
import { Icon } from "./icon.tsx";

interface NamedItemsProps<T> {
  readonly label: string;
  readonly items: readonly T[];
  readonly icon: IconNode;
  readonly onPick: (item: T) => void;
  readonly isPicked?: (item: T) => boolean;
  /** Removes an item; its label has the item's name. */
  readonly remove?: { readonly label: (name: string) => string; readonly run: (id: string) => void };
}

export function NamedItems<T extends { readonly id: string; readonly name: string }>({
  label,
  items,
  icon,
  onPick,
  isPicked,
  remove,
}: NamedItemsProps<T>) {
  if (items.length === 0) return null;
  return (
    <ul class="assistants" aria-label={label}>
      {items.map((item) => (
        <li key={item.id}>
          <button type="button" aria-pressed={isPicked?.(item)} onClick={() => onPick(item)}>
            <Icon node={icon} size={16} /> {item.name}
          </button>
          {remove !== undefined && (
            <button
              type="button"
              class="ghost"
              aria-label={remove.label(item.name)}
              onClick={() => remove.run(item.id)}
            >
              <Icon node={X} size={14} />
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}
