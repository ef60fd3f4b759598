// Common frame of all pages except chat.

import type { ComponentChildren } from "preact";

interface PageFrameProps {
  readonly label: string;
  /** Wide enough for charts side by side. */
  readonly isWide?: boolean;
  readonly children: ComponentChildren;
}

/** A scrollable page, focusable so that it can be scrolled by keyboard. */
export function PageFrame({ label, isWide = false, children }: PageFrameProps) {
  return (
    <div class="page" tabIndex={0} role="region" aria-label={label}>
      <div class={isWide ? "column wide-column" : "column"}>{children}</div>
    </div>
  );
}
