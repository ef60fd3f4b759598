// Dependencies of the serving process's side of an engine, which src/app makes of its settings.

import type { ErrorData } from "../core/error.ts";
import type { EngineMeter } from "../core/telemetry.ts";
import type { ResidentAdapters } from "./adapters.ts";
import type { OpenLink } from "./host.ts";
import type { EngineOptions } from "./protocol.ts";

export interface EngineClientDeps {
  /** The model's public name, for messages. */
  readonly name: string;
  readonly options: EngineOptions;
  readonly openLink: OpenLink;
  /** Maximum waiting requests, besides those being computed. */
  readonly queueMax: number;
  /** Adapters that the engine must hold. */
  readonly adapters?: ResidentAdapters;
  readonly log: (line: string) => void;
  /** Why the engine has died, if the reason lies outside of it. */
  readonly lossOf?: () => ErrorData | undefined;
  /** Receives the engine's statistics. */
  readonly meter?: EngineMeter;
  /** Time after which a hung engine is replaced, milliseconds; absent: never. */
  readonly timeoutMs?: number;
  /** Time limit of the chat template's trial, milliseconds. */
  readonly templateMs?: number;
  /** Progress of loading, parts per thousand; 1000 when the model is loaded. */
  readonly onLoading?: (permille: number) => void;
}
