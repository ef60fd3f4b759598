// State of the notices (toasts) at the edge of the page.

import { signal } from "@preact/signals";

/** Time that a notice is shown, milliseconds. */
const STAY_MS = 7000;

export interface Toast {
  readonly key: number;
  readonly text: string;
  readonly action?: { readonly label: string; readonly run: () => void };
}

export const toasts = signal<readonly Toast[]>([]);
let lastKey = 0;

/** `stays`: until it is dismissed. */
export function notify(text: string, action?: Toast["action"], { stays = false } = {}): void {
  const key = ++lastKey;
  toasts.value = [...toasts.value, { key, text, ...(action === undefined ? {} : { action }) }];
  if (!stays) setTimeout(() => dismiss(key), STAY_MS);
}

/** Does something; its error becomes a notice. */
export async function notifyOf(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    notify(error instanceof Error ? error.message : String(error));
  }
}

export function dismiss(key: number): void {
  toasts.value = toasts.value.filter((toast) => toast.key !== key);
}
