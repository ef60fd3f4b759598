// The environment of confined processes: a short list of the server's own names, and homes inside the working directory.
// Tokens and keys that the server was started with never pass.

import { availableParallelism } from "node:os";
import { join } from "node:path";
import type { Profile } from "./types.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

const PASSED = ["PATH", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TZ", "PYTHONHASHSEED", "PYTHONIOENCODING"];

/** Names of folders that hold a toolchain. */
export const TOOLCHAIN_FOLDERS = [
  "ASDF_DATA_DIR",
  "ASDF_DIR",
  "BUN_INSTALL",
  "CONDA_PREFIX",
  "DENO_DIR",
  "HOMEBREW_PREFIX",
  "JAVA_HOME",
  "JENV_ROOT",
  "MAMBA_ROOT_PREFIX",
  "MISE_DATA_DIR",
  "NVM_DIR",
  "PYENV_ROOT",
  "RBENV_ROOT",
  "RUSTUP_HOME",
  "VIRTUAL_ENV",
  "VOLTA_HOME",
];

/** Names of lists of folders, separated by colons. */
export const TOOLCHAIN_LISTS = [
  "CPATH",
  "CPLUS_INCLUDE_PATH",
  "C_INCLUDE_PATH",
  "DYLD_FALLBACK_LIBRARY_PATH",
  "DYLD_LIBRARY_PATH",
  "LD_LIBRARY_PATH",
  "LIBRARY_PATH",
  "NIX_PROFILES",
  "NODE_PATH",
  "PKG_CONFIG_PATH",
];

/** Threads that number libraries start; each counts as a process, and by themselves they take all processors. */
const THREADS_MAX = 8;

/** Folders inside the working directory. A dot keeps them out of the files that a call reports. */
export const HOMES = {
  temp: ".tmp",
  shared: ".shm",
  cache: ".cache",
  config: ".config",
  data: ".local/share",
} as const;

/** What a confined process finds in its environment, whose working directory is `workdir`. */
export function confinedEnvironment(
  own: Environment,
  profile: Profile,
  workdir: string,
): Record<string, string> {
  const names =
    profile === "developer"
      ? [...PASSED, "CONDA_DEFAULT_ENV", ...TOOLCHAIN_FOLDERS, ...TOOLCHAIN_LISTS]
      : PASSED;
  const passed = names.flatMap((name) => {
    const value = own[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  const threads = String(Math.min(availableParallelism(), THREADS_MAX));
  return {
    PATH: "/usr/local/bin:/usr/bin:/bin",
    LANG: "C.UTF-8",
    ...Object.fromEntries(passed),
    HOME: workdir,
    USER: "svc",
    LOGNAME: "svc",
    TMPDIR: join(workdir, HOMES.temp),
    XDG_CACHE_HOME: join(workdir, HOMES.cache),
    XDG_CONFIG_HOME: join(workdir, HOMES.config),
    XDG_DATA_HOME: join(workdir, HOMES.data),
    OMP_NUM_THREADS: threads,
    OPENBLAS_NUM_THREADS: threads,
    PYTHONUNBUFFERED: "1",
  };
}
