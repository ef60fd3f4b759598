// A formula. The TeX translator is loaded with the first formula. Until then, and for invalid TeX, the source is shown.

import { signal } from "@preact/signals";
import { memo } from "preact/compat";
import { useEffect } from "preact/hooks";
import type Temml from "temml";
import { mathElement } from "./mathml.ts";
import { t } from "../texts/texts.ts";

const translator = signal<typeof Temml | undefined>(undefined);

interface FormulaProps {
  readonly formula: string;
  /** The formula with its delimiters, shown if it cannot be rendered. */
  readonly source: string;
  readonly isDisplay: boolean;
}

export const Formula = memo(({ formula, source, isDisplay }: FormulaProps) => {
  useEffect(() => void loadFormulas(), []);
  const temml = translator.value;
  const rendered = temml && mathElement(temml, formula, isDisplay);
  if (rendered === undefined) return <code>{source.trim()}</code>;
  if (!isDisplay) return <span class="formula">{rendered}</span>;
  // A scrollable box must be focusable by keyboard.
  return (
    <span class="formula display" tabIndex={0} role="region" aria-label={t.blocks.formula}>
      {rendered}
    </span>
  );
});

/** Loads the translator. */
export async function loadFormulas(): Promise<void> {
  if (translator.value !== undefined) return;
  try {
    translator.value = (await import("temml")).default;
  } catch {
    // the server is down or was updated; the source remains visible
  }
}
