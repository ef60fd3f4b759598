import { TriangleAlert } from "lucide";
import { Icon } from "../view/icon.tsx";

/** What went wrong, instead of or above a page's content. */
export function Problem({ text }: { readonly text: string }) {
  return (
    <p class="problem" role="alert">
      <Icon node={TriangleAlert} />
      <span>{text}</span>
    </p>
  );
}
