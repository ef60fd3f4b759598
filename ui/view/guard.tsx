// Holds an error of the page's own code where it happens: without it nothing of the page is drawn any more, after a reload neither.

import type { ComponentChildren } from "preact";
import { useErrorBoundary } from "preact/hooks";
import { messageOf } from "../api/client.ts";
import { Problem } from "../pages/problem.tsx";
import { t } from "../texts/texts.ts";

interface GuardProps {
  /** What is shown unformatted where the children cannot be drawn. */
  readonly text?: () => string;
  readonly children: ComponentChildren;
}

export function Guard({ text = () => "", children }: GuardProps) {
  const [error] = useErrorBoundary();
  if (error === undefined) return <>{children}</>;
  return (
    <>
      <Problem text={t.errors.notDrawn(messageOf(error))} />
      <pre class="undrawn">{text()}</pre>
    </>
  );
}
