// Where the hub is and where its tools keep things on this machine, by the environment names those tools share. So models
// that other programs have downloaded are found, and the other way round.

import { homedir } from "node:os";
import { join } from "node:path";

/** The process's environment. */
export type Environment = Readonly<Record<string, string | undefined>>;

export interface HubPlace {
  /** Address of the hub without a slash at its end. */
  readonly endpoint: string;
  /** Folder of downloaded repositories. */
  readonly cacheDir: string;
  /** File that holds the user's token. */
  readonly tokenFile: string;
  /** True where the network must not be used. */
  readonly offline: boolean;
}

const ENDPOINT = "https://huggingface.co";

/** The place that the environment tells; `cacheDir` replaces the cache folder. */
export function hubPlace(environment: Environment, cacheDir?: string): HubPlace {
  const said = (name: string): string | undefined => {
    const value = environment[name]?.trim();
    return value === undefined || value === "" ? undefined : value;
  };
  const userHome = said("HOME") ?? homedir();
  const folder = (name: string): string | undefined => said(name)?.replace(/^~(?=\/|$)/, userHome);
  const cacheHome = folder("XDG_CACHE_HOME") ?? join(userHome, ".cache");
  const home = folder("HF_HOME") ?? join(cacheHome, "huggingface");
  return {
    endpoint: (said("HF_ENDPOINT") ?? ENDPOINT).replace(/\/+$/, ""),
    cacheDir: cacheDir ?? folder("HF_HUB_CACHE") ?? folder("HUGGINGFACE_HUB_CACHE") ?? join(home, "hub"),
    tokenFile: folder("HF_TOKEN_PATH") ?? join(home, "token"),
    offline: /^(?:1|on|yes|true)$/i.test(said("HF_HUB_OFFLINE") ?? ""),
  };
}
