// The part of the composition root that is about a chat in the terminal: models and what answers conversations, without
// a server.

import { plainConverse } from "./agent/plain.ts";
import { createModels, type ModelOptions } from "./app-models.ts";
import { openStores } from "./app-stores.ts";
import type { Converse } from "./core/agent.ts";
import { reasonOf } from "./core/start-error.ts";
import { publicFetch } from "./net/public-fetch.ts";

/** Somebody to talk with. */
export interface ChatPartner {
  /** Name of the default model. */
  readonly model: string;
  /** Names of all models, the default one first. */
  readonly models: readonly string[];
  readonly converse: Converse;
  close(): Promise<void>;
}

/** Loads the default model. Throws the reason why it can't be loaded. */
export async function openChat(options: ModelOptions): Promise<ChatPartner> {
  const { settings } = options;
  // The file of a server may be held by that server; a chat keeps what it must in memory.
  const stores = openStores({
    ...options,
    settings: { ...settings, server: { ...settings.server, state: "memory" } },
  });
  const models = createModels(options);
  const close = async (): Promise<void> => {
    await models.stop();
    stores.close();
  };
  try {
    await models.load("default");
  } catch (error) {
    await close();
    throw new Error(reasonOf(error), { cause: error });
  }
  return {
    model: models.resolve("default").id,
    models: models.list().map(({ id }) => id),
    converse: plainConverse({
      generate: (request, signal) => models.generate(request, signal),
      ...stores,
      fetchFile: publicFetch(),
    }),
    close,
  };
}
