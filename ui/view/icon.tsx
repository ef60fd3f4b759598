// Renders lucide icons.

import { h } from "preact";
import type { IconNode } from "lucide";

/** A decorative icon, hidden from screen readers: it accompanies text or a labelled button. */
export function Icon({ node, size = 18 }: { readonly node: IconNode; readonly size?: number }) {
  return (
    <svg
      class="icon"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-width="1.75"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      {node.map(([tag, attributes]) => h(tag, attributes))}
    </svg>
  );
}
