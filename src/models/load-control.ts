// The load settings of one model: what holds, what its memory would be with others, and keeping them.

import { defaultThreads } from "../../ffi/linux/usable-cores.ts";
import type { ModelSettings, Settings } from "../config/settings.ts";
import { defined } from "../core/defined.ts";
import { freeMemory } from "../core/free-memory.ts";
import type { LoadControl, LoadSettings } from "../core/load-settings.ts";
import type { ModelFileFacts } from "../core/model-info.ts";
import type { Card } from "../engine/claims.ts";
import { fileFacts, knowFiles } from "./file-facts.ts";
import { type ModelChoices, withLoad } from "./model-choices.ts";
import { modelPath } from "./locate.ts";
import type { ModelOptions } from "./model-files.ts";

interface LoadDeps {
  readonly choices: ModelChoices;
  /** The accelerators; undefined until an engine has looked for them. */
  readonly cards: () => readonly Card[] | undefined;
}

/** Control of the load of an entry's text model. */
export function loadControl(
  entry: ModelSettings,
  options: Pick<ModelOptions, "settings" | "cacheDir">,
  { choices, cards }: LoadDeps,
): LoadControl {
  return {
    keep: (settings) => choices.keepLoad(entry, settings),
    plan: async (settings = choices.loadOf(entry)) => {
      const facts = await factsWith(entry, options, settings);
      return {
        settings,
        configured: configuredLoad(entry, options.settings),
        trained_context_length: facts?.contextTokens ?? null,
        layers: layersOf(facts),
        threads: defaultThreads(),
        has_devices: (cards() ?? []).length > 0,
        memory_bytes: facts?.memoryBytes ?? null,
        memory_free_bytes: Math.floor(freeMemory()),
      };
    },
  };
}

/** What the file says, with its memory under these settings; undefined where it is not here or cannot be read. */
async function factsWith(
  model: ModelSettings,
  { settings: configured, cacheDir }: Pick<ModelOptions, "settings" | "cacheDir">,
  chosen: LoadSettings,
): Promise<ModelFileFacts | undefined> {
  const planned = withLoad(model, configured, chosen);
  const path = modelPath(model, cacheDir);
  if (path === undefined) return undefined;
  await knowFiles(path, planned);
  try {
    return fileFacts(planned.entry, { settings: planned.settings, cacheDir }, path);
  } catch {
    return undefined; // its load will say what is wrong
  }
}

function configuredLoad({ device }: ModelSettings, { runtime, paged_attn: cache }: Settings): LoadSettings {
  return {
    ...(cache.cache_type === "auto" ? {} : { cache_type: cache.cache_type }),
    ...defined({
      max_seq_len: device.max_seq_len,
      device_layers: device.device_layers,
      threads: runtime.threads,
    }),
  };
}

/** The layers that can be placed, the output layer among them. */
function layersOf(facts: ModelFileFacts | undefined): number | null {
  const blocks = facts?.card?.metadata[`${facts.architecture}.block_count`];
  return typeof blocks === "number" ? blocks + 1 : null;
}
