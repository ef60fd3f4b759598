import type { ComponentChildren } from "preact";

interface PageFrameProps {
  readonly label: string;
  /** Makes room for charts side by side. */
  readonly isWide?: boolean;
  readonly children: ComponentChildren;
}

/** A page that scrolls, which must also be possible by keyboard. */
export function PageFrame({ label, isWide = false, children }: PageFrameProps) {
  return (
    <div class="page" tabIndex={0} role="region" aria-label={label}>
      <div class={isWide ? "column wide-column" : "column"}>{children}</div>
    </div>
  );
}
