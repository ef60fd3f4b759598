// Instead of a page's content, where no model is served that could make it.

import { modelsFor } from "../state/abilities.ts";
import type { ModelKind } from "../state/model-card.ts";
import { models } from "../state/models.ts";

interface NoModelProps {
  readonly kind: ModelKind;
  /** What they do: "draws". */
  readonly does: string;
  /** Where it is described how to serve one. */
  readonly page: string;
}

export function NoModel({ kind, does, page }: NoModelProps) {
  if (models.value === undefined || modelsFor(kind).length > 0) return null;
  return (
    <p class="note">
      This server has no model that {does}. Start svc with one: see <code>{page}</code>.
    </p>
  );
}
