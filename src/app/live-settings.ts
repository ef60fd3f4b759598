// Settings that can change while the server runs: those whose rows say so (isLive).

import { aliasParts } from "../config/alias-entry.ts";
import { changedSettings, withChanges } from "../config/changes.ts";
import type { Settings } from "../config/settings.ts";
import { rowAt } from "../config/table.ts";
import { type ModelAliases, modelAliases } from "../http/model-alias.ts";
import { accessLine, inBatches, isRoutine } from "../http/access-log.ts";
import type { HttpDeps } from "../http/deps.ts";
import type { Edge } from "./edge.ts";

/** Result of applying new settings. */
export interface Applied {
  /** Settings in force from now on. */
  readonly changed: readonly string[];
  /** Settings that need a restart. */
  readonly waiting: readonly string[];
}

/** Readers of the settings in force. */
export interface Live extends Pick<HttpDeps, "accessLog" | "aliases"> {
  readonly aliases: ModelAliases;
  /** Applies the settings that need no restart. */
  readonly apply: (next: Settings) => Applied;
}

/** Whether keys are needed because of `api_keys` changes with a restart alone. */
export function liveSettings(
  start: Settings,
  { replaceKeys }: Pick<Edge, "replaceKeys">,
  log: (line: string) => void,
): Live {
  let settings = start;
  let aliases = aliasesOf(start);
  const write = inBatches(log);
  const isLive = (path: string, next: Settings): boolean => {
    if (rowAt(path)?.isLive !== true) return false;
    const hadKeys = settings.server.api_keys !== undefined;
    return path !== "server.api_keys" || (hadKeys && next.server.api_keys !== undefined);
  };
  return {
    aliases: {
      exact: (name) => aliases.exact(name),
      fitting: (name) => aliases.fitting(name),
      assistants: () => aliases.assistants(),
    },
    accessLog: (request) => {
      const { server } = settings;
      if (server.disable_access_log) return;
      if (isRoutine(request) && !server.access_log_health) return;
      write(accessLine(request, server.access_log_format, new Date()));
    },
    /** Throws StartError, before anything is changed, for keys whose source is gone. */
    apply: (next) => {
      const all = changedSettings(settings, next);
      const changed = all.filter((path) => isLive(path, next));
      const applied = withChanges(settings, next, changed);
      replaceKeys(applied);
      settings = applied;
      aliases = aliasesOf(settings);
      return { changed, waiting: all.filter((path) => !changed.includes(path)) };
    },
  };
}

function aliasesOf({ aliases }: Settings): ModelAliases {
  return modelAliases((aliases ?? []).map(aliasParts));
}
