// Stores of records that outlive a request, from settings.

import type { Settings } from "../config/settings.ts";
import { openBlockFolder } from "../core/block-folder.ts";
import type { ForCaller } from "../core/caller.ts";
import { freeMemory } from "../core/free-memory.ts";
import { reasonOf } from "../core/reason.ts";
import { FILE_BODIES_BYTES_MAX } from "../files/limits.ts";
import { FILE_BODIES_SHARE, STATE_SWEEP_MS } from "./limits.ts";
import { ownedState } from "../state/owned.ts";
import { StartError } from "../core/start-error.ts";
import type { OwnedState, State } from "../core/state.ts";
import type { Files } from "../core/files.ts";
import { userTemporary } from "../core/user-home.ts";
import { fileStore, type FileStoreOptions } from "../files/store.ts";
import { SessionStore } from "../sessions/store.ts";
import { refuseForeignFolder } from "../skills/load.ts";
import { SkillStore } from "../skills/store.ts";
import { openState } from "../state/open.ts";

export interface StoreOptions {
  readonly settings: Settings;
  readonly log: (line: string) => void;
}

export interface Stores {
  readonly state: OwnedState;
  readonly files: ForCaller<Files>;
  readonly sessions: SessionStore;
  readonly skills: SkillStore;
  /** Closes all stores; they must not be used afterwards. */
  close(): void;
}

/**
 * Opens the stores that the settings name. `legacyOwner`, where keys are needed: the owner of what was made without one. Throws
 * StartError.
 */
export function openStores(options: StoreOptions, legacyOwner?: () => string): Stores {
  const skills = skillsOf(options);
  checkCacheDisk(options.settings);
  const state = ownedState(stateOf(options), legacyOwner);
  const files = fileStore(state, inMemory(options.settings));
  const sessions = new SessionStore(state);
  const sweeping = setInterval(() => {
    state.sweep();
    sessions.sweep();
  }, STATE_SWEEP_MS);
  return {
    state,
    files,
    sessions,
    skills,
    close: () => {
      clearInterval(sweeping);
      state.close();
    },
  };
}

/** Files in memory leave room for models, also in a small container. */
function inMemory({ server }: Settings): FileStoreOptions {
  if (server.state !== "memory") return {};
  return { bodyBytesMax: Math.min(FILE_BODIES_BYTES_MAX, Math.floor(freeMemory() * FILE_BODIES_SHARE)) };
}

function skillsOf({ settings, log }: StoreOptions): SkillStore {
  const named = settings.runtime.skills_dir;
  const folder = named ?? userTemporary("skills");
  try {
    if (named === undefined) refuseForeignFolder(folder);
    return new SkillStore({ folder, log });
  } catch (error) {
    throw new StartError(`--skills-dir cannot be read: ${reasonOf(error)}`, { cause: error });
  }
}

/** The folder is the engines', which would go without it: better said before than found out when nothing is restored. */
function checkCacheDisk({ runtime: { cache_disk: folder } }: Settings): void {
  if (folder === undefined) return;
  try {
    openBlockFolder(folder);
  } catch (error) {
    throw new StartError(`--cache-disk cannot be used: ${reasonOf(error)}`, { cause: error });
  }
}

function stateOf({ settings, log }: StoreOptions): State {
  try {
    return openState(settings.server.state, log);
  } catch (error) {
    throw new StartError(reasonOf(error), { cause: error });
  }
}
