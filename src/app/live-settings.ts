// Settings that can change while the server runs: keys, model aliases, access log.

import { aliasParts } from "../config/alias-entry.ts";
import { changedSettings } from "../config/changes.ts";
import type { Settings } from "../config/settings.ts";
import { defined } from "../core/defined.ts";
import { type ModelAliases, modelAliases } from "../http/model-alias.ts";
import { accessLine, inBatches, isRoutine } from "../http/access-log.ts";
import type { ApiKeys } from "../http/api-keys.ts";
import type { HttpDeps } from "../http/deps.ts";
import { apiKeysOf } from "./edge.ts";

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

/** Settings that apply without a restart, besides keys. */
const LIVE: ReadonlySet<string> = new Set([
  "aliases",
  "server.disable_access_log",
  "server.access_log_format",
  "server.access_log_health",
]);

/** `keys`: absent where none are needed, which a restart alone can change. */
export function liveSettings(start: Settings, keys: ApiKeys | undefined, log: (line: string) => void): Live {
  let settings = start;
  let aliases = aliasesOf(start);
  const write = inBatches(log);
  const isLive = (path: string, next: Settings): boolean => {
    if (path !== "server.api_keys") return LIVE.has(path);
    return keys !== undefined && next.server.api_keys !== undefined;
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
      const { server } = settings;
      const keysNow = changed.includes("server.api_keys") ? next.server.api_keys : server.api_keys;
      const secrets = keysNow === undefined ? undefined : apiKeysOf(keysNow); // a file of keys may have changed as well
      const { aliases: _, ...rest } = settings;
      settings = {
        ...rest,
        ...defined({ aliases: next.aliases }),
        server: {
          ...server,
          ...defined({ api_keys: keysNow }),
          disable_access_log: next.server.disable_access_log,
          access_log_format: next.server.access_log_format,
          access_log_health: next.server.access_log_health,
        },
      };
      aliases = aliasesOf(settings);
      if (secrets !== undefined) keys?.replace(secrets);
      return { changed, waiting: all.filter((path) => !changed.includes(path)) };
    },
  };
}

function aliasesOf({ aliases }: Settings): ModelAliases {
  return modelAliases((aliases ?? []).map(aliasParts));
}
