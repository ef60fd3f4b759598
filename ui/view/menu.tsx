// A button that opens a menu of actions.

import { Ellipsis, type IconNode } from "lucide";
import { Icon } from "./icon.tsx";
import { usePopup } from "./popup.ts";

export interface MenuItem {
  readonly label: string;
  readonly icon: IconNode;
  readonly isDanger?: boolean;
  readonly isDisabled?: boolean;
  readonly run: () => void;
}

interface MenuProps {
  readonly label: string;
  readonly items: readonly MenuItem[];
  /** Opens above the button, at its left edge. */
  readonly isUp?: boolean;
}

export function Menu({ label, items, isUp = false }: MenuProps) {
  const { box, isOpen, toggle, close, onKeyDown } = usePopup(".menu button:enabled");
  return (
    <span
      class="menu-box"
      ref={box}
      onKeyDown={(event) => (onKeyDown(event), onArrow(event))}
      role="presentation"
    >
      <button
        type="button"
        class="ghost"
        aria-label={label}
        title={label}
        aria-expanded={isOpen}
        onClick={toggle}
      >
        <Icon node={Ellipsis} size={16} />
      </button>
      {isOpen && (
        <div class={isUp ? "menu up" : "menu"}>
          {items.map(({ label: text, icon, isDanger = false, isDisabled = false, run }) => (
            <button
              key={text}
              type="button"
              class={isDanger ? "danger" : undefined}
              disabled={isDisabled}
              onClick={() => (close(), run())}
            >
              <Icon node={icon} size={16} /> {text}
            </button>
          ))}
        </div>
      )}
    </span>
  );
}

/** Arrows move between the items. */
function onArrow(event: KeyboardEvent): void {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  const menu = event.target instanceof HTMLElement ? event.target.closest(".menu") : null;
  if (step === 0 || menu === null) return;
  event.preventDefault();
  const buttons = [...menu.querySelectorAll<HTMLElement>("button:enabled")];
  const at = buttons.findIndex((button) => button === document.activeElement);
  buttons.at((at + step) % buttons.length)?.focus();
}
