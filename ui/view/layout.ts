// What of the frame is open: the list on narrow screens, the panel, the help.

import { signal } from "@preact/signals";

/** The list of conversations. Wide screens show it unless it was closed, narrow ones when it was opened. */
export const isListOpen = signal(isWide());
export const isPanelOpen = signal(false);
export const isHelpOpen = signal(false);

/** As in the style sheet. */
function isWide(): boolean {
  return matchMedia("(min-width: 52rem)").matches;
}

/** After a choice in the list: on a narrow screen it lies over the page. */
export function closeListIfNarrow(): void {
  if (!isWide()) isListOpen.value = false;
}
