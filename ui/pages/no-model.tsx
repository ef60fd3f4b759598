// Notice on the image and speech pages if no such model is served.

import { modelsFor } from "../state/capabilities.ts";
import type { ModelKind } from "../state/model-card.ts";
import { models } from "../state/models.ts";
import { t } from "../texts/texts.ts";

interface NoModelProps {
  readonly kind: ModelKind;
  /** Documentation of how to serve one. */
  readonly page: string;
}

export function NoModel({ kind, page }: NoModelProps) {
  if (models.value === undefined || modelsFor(kind).length > 0) return null;
  return (
    <p class="note">
      {t.models.noneOfKind[kind]} <code>{page}</code>.
    </p>
  );
}
