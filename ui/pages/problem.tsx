// Error message of a page.

import { TriangleAlert } from "lucide";
import { Icon } from "../view/icon.tsx";
import { t } from "../texts/texts.ts";

interface ProblemProps {
  readonly text: string;
  /** Offered where the page does not try again by itself. */
  readonly onRetry?: () => void;
}

/** An error message, above or instead of a page's content. */
export function Problem({ text, onRetry }: ProblemProps) {
  return (
    <p class="problem" role="alert">
      <Icon node={TriangleAlert} />
      <span>{text}</span>
      {onRetry !== undefined && (
        <button type="button" onClick={onRetry}>
          {t.common.again}
        </button>
      )}
    </p>
  );
}
