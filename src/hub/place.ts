// Addresses and folders of the hub, by the environment variables that its tools share: svc and other programs find each
// other's downloads.

import { join } from "node:path";
import { userHome, userTemporary } from "../core/user-home.ts";

/** The process's environment. */
export type Environment = Readonly<Record<string, string | undefined>>;

export interface HubPlace {
  /** Address of the hub without a slash at its end. */
  readonly endpoint: string;
  /** Folder of downloaded repositories. */
  readonly cacheDir: string;
  /** The user's token file. */
  readonly tokenFile: string;
  /** Whether the network is forbidden. */
  readonly offline: boolean;
}

const ENDPOINT = "https://huggingface.co";

/** The place by the environment; `cacheDir` replaces the cache folder. */
export function hubPlace(environment: Environment, cacheDir?: string): HubPlace {
  const said = (name: string): string | undefined => {
    const value = environment[name]?.trim();
    return value === undefined || value === "" ? undefined : value;
  };
  const homeFolder = said("HOME") ?? userHome() ?? userTemporary("cache");
  const folder = (name: string): string | undefined => said(name)?.replace(/^~(?=\/|$)/, homeFolder);
  const cacheHome = folder("XDG_CACHE_HOME") ?? join(homeFolder, ".cache");
  const home = folder("HF_HOME") ?? join(cacheHome, "huggingface");
  return {
    endpoint: (said("HF_ENDPOINT") ?? ENDPOINT).replace(/\/+$/, ""),
    cacheDir: cacheDir ?? folder("HF_HUB_CACHE") ?? folder("HUGGINGFACE_HUB_CACHE") ?? join(home, "hub"),
    tokenFile: folder("HF_TOKEN_PATH") ?? join(home, "token"),
    offline: /^(?:1|on|yes|true)$/i.test(said("HF_HUB_OFFLINE") ?? ""),
  };
}
