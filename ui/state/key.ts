// State of the API key dialog, which opens when the server requires a key.

import { signal } from "@preact/signals";

/** Whether the API key dialog is open. */
export const isKeyDialogOpen = signal(false);
/** Whether it opened because the server refused a key, rather than for want of one. */
export const isKeyRefused = signal(false);
