// Error message of a page.

import { TriangleAlert } from "lucide";
import { Icon } from "../view/icon.tsx";

/** An error message, above or instead of a page's content. */
export function Problem({ text }: { readonly text: string }) {
  return (
    <p class="problem" role="alert">
      <Icon node={TriangleAlert} />
      <span>{text}</span>
    </p>
  );
}
