// Facts of an upstream server, from its model list.

import { defined } from "../core/defined.ts";
import type { Modality } from "../core/message.ts";
import { type EngineName, engineOf } from "./engines.ts";
import { fieldsIn } from "./forms.ts";
import type { WireModelCard } from "./wire.ts";

export interface ServerFacts {
  readonly engine: EngineName;
  /** It is OpenAI's own service, whose newer models refuse `max_tokens`. */
  readonly isOpenAi: boolean;
  /** Version, where the server states it: [major, minor]. */
  readonly version?: readonly [number, number];
  /** Longest sequence, tokens. */
  readonly contextTokens?: number;
  /** What it takes besides text; absent: it does not state it. */
  readonly modalities?: readonly Modality[];
  readonly thinks?: boolean;
  readonly embeds?: boolean;
  /** It certainly runs no tools by itself, so that a request repeated after a timeout repeats no action. */
  readonly runsNoTools: boolean;
}

/** Of a server that has not answered yet: nothing is assumed but the common API. */
export const UNKNOWN_SERVER: ServerFacts = { engine: "other", isOpenAi: false, runsNoTools: false };

/** The facts in a model's card. */
export function factsOf(card: WireModelCard, version?: string): ServerFacts {
  const engine = engineOf(card.owned_by ?? undefined);
  const contextTokens = card.max_model_len ?? card.meta?.n_ctx ?? undefined;
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(version ?? "") ?? [];
  return {
    engine,
    isOpenAi: card.owned_by === "openai" || card.owned_by === "system" || card.owned_by === "openai-internal",
    ...(major === undefined ? {} : { version: [Number(major), Number(minor)] as const }),
    ...defined({ contextTokens }),
    ...abilitiesOf(card),
    runsNoTools: engine === "svc" ? card.tools_available !== true : engine !== "other",
  };
}

function abilitiesOf({
  modalities,
  capabilities,
}: WireModelCard): Pick<ServerFacts, "modalities" | "thinks" | "embeds"> {
  const stated = (modalities ?? undefined)?.filter(
    (one): one is Modality => one === "image" || one === "audio",
  );
  const able = fieldsIn(capabilities);
  return {
    ...defined({ modalities: stated }),
    ...(typeof able["reasoning"] === "boolean" ? { thinks: able["reasoning"] } : {}),
    ...(typeof able["embeddings"] === "boolean" ? { embeds: able["embeddings"] } : {}),
  };
}
