// Servers may demand an API key; then the page asks for it.

import { signal } from "@preact/signals";

/** Whether the dialog is open that asks for a key. */
export const keyWanted = signal(false);
