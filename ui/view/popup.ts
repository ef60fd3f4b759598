// What a button opens beside itself: closed by Escape, by the button, and by a click elsewhere.

import { useEffect, useRef, useState } from "preact/hooks";

/** `first`: selector of what gets the focus when it opens. `box` holds the button and what it opens. */
export function usePopup(first: string) {
  const [isOpen, setOpen] = useState(false);
  const box = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    if (!isOpen) return undefined;
    box.current?.querySelector<HTMLElement>(first)?.focus();
    const onPointer = ({ target }: Event): void => {
      if (!(target instanceof Node && box.current?.contains(target) === true)) setOpen(false);
    };
    addEventListener("pointerdown", onPointer);
    return () => removeEventListener("pointerdown", onPointer);
  }, [isOpen]);
  const close = (): void => {
    setOpen(false);
    box.current?.querySelector("button")?.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "Escape" || !isOpen) return;
    event.stopPropagation(); // Escape would stop an answer
    close();
  };
  return { box, isOpen, close, toggle: () => setOpen(!isOpen), onKeyDown };
}
