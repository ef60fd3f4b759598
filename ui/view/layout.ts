// Open and closed parts of the layout: conversation list, settings panel, help.

import { signal } from "@preact/signals";

/** Id of the message box. */
export const COMPOSER_ID = "composer";
/** Id of the button that closes the settings: where the focus goes when they open. */
export const PANEL_CLOSE_ID = "panel-close";

/** The conversation list: initially open on wide screens, closed on narrow ones. */
export const isListOpen = signal(isWide());
export const isPanelOpen = signal(false);
export const isHelpOpen = signal(false);

/** The same width as in styles/frame.css. */
function isWide(): boolean {
  return matchMedia("(min-width: 52rem)").matches;
}

/** Closes the list after a selection on narrow screens, where it covers the page. */
export function closeListIfNarrow(): void {
  if (!isWide()) isListOpen.value = false;
}
