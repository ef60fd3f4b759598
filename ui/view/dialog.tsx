// Modal dialog, based on the `dialog` element: it traps the focus, and Escape closes it.

import { X } from "lucide";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Icon } from "./icon.tsx";
import { t } from "../texts/texts.ts";

interface DialogProps {
  readonly title: string;
  /** As wide as its content. */
  readonly isWide?: boolean;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

export function Dialog({ title, isWide = false, onClose, children }: DialogProps) {
  const box = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => box.current?.showModal(), []);
  return (
    <dialog ref={box} class={isWide ? "wide" : undefined} onClose={onClose} aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        <button type="button" class="ghost" aria-label={t.common.close} onClick={() => box.current?.close()}>
          <Icon node={X} />
        </button>
      </header>
      {children}
    </dialog>
  );
}
