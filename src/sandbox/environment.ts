// Environment of sandboxed processes: an allow list of the server's variables, and homes inside the working directory. Tokens and
// keys of the server never pass.

import { availableParallelism } from "node:os";
import { join } from "node:path";
import type { Profile } from "./types.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

const PASSED = ["PATH", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TZ", "PYTHONHASHSEED", "PYTHONIOENCODING"];

/** Variables that name a toolchain folder. */
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

/** Variables that name folders, separated by colons. */
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

/** Threads of numeric libraries: each counts as a process, and the default is one a processor. */
const THREADS_MAX = 8;

/** Folders inside the working directory. Names with a dot are not reported as files of a call. */
export const HOMES = {
  temp: ".tmp",
  shared: ".shm",
  cache: ".cache",
  config: ".config",
  data: ".local/share",
} as const;

/** Environment of a sandboxed process with the working directory `workdir`. */
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
