// A formula. What translates it is loaded with the first one; until then, and where it is no TeX, its source is shown.

import { signal } from "@preact/signals";
import { memo } from "preact/compat";
import { useEffect } from "preact/hooks";
import type Temml from "temml";
import { mathElement } from "./mathml.ts";

const translator = signal<typeof Temml | undefined>(undefined);

interface FormulaProps {
  readonly formula: string;
  /** With its marks, for when it can't be drawn. */
  readonly source: string;
  readonly isDisplay: boolean;
}

export const Formula = memo(({ formula, source, isDisplay }: FormulaProps) => {
  useEffect(() => void load(), []);
  const temml = translator.value;
  const drawn = temml && mathElement(temml, formula, isDisplay);
  if (drawn === undefined) return <code>{source.trim()}</code>;
  if (!isDisplay) return <span class="formula">{drawn}</span>;
  // A box that scrolls must be reachable by keyboard.
  return (
    <span class="formula display" tabIndex={0} role="region" aria-label="Formula">
      {drawn}
    </span>
  );
});

async function load(): Promise<void> {
  if (translator.value !== undefined) return;
  try {
    translator.value = (await import("temml")).default;
  } catch {
    // the server is gone or another version; the source stays
  }
}
