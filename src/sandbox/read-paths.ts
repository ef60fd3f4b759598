// Paths that sandboxed processes can read besides their working directory: an allow list, because code of a model can read
// everything in it.

import { existsSync, realpathSync } from "node:fs";
import { isAbsolute, join, relative } from "node:path";
import { foldersAbove } from "../core/closed-folder.ts";
import { type Environment, TOOLCHAIN_FOLDERS, TOOLCHAIN_LISTS } from "./environment.ts";
import type { Profile } from "./types.ts";

/** Programs and libraries. */
const SYSTEM = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt"];

/** Facts on the machine that programs read, without passwords, keys and settings of services. */
const SYSTEM_FILES = [
  "/etc/alternatives",
  "/etc/ca-certificates",
  "/etc/crypto-policies",
  "/etc/fonts",
  "/etc/group",
  "/etc/host.conf",
  "/etc/hosts",
  "/etc/ld.so.cache",
  "/etc/ld.so.conf",
  "/etc/ld.so.conf.d",
  "/etc/locale.alias",
  "/etc/localtime",
  "/etc/magic",
  "/etc/matplotlibrc",
  "/etc/mime.types",
  "/etc/nsswitch.conf",
  "/etc/os-release",
  "/etc/passwd",
  "/etc/pki/ca-trust",
  "/etc/pki/tls/certs",
  "/etc/profile",
  "/etc/protocols",
  "/etc/resolv.conf",
  "/etc/services",
  "/etc/shells",
  "/etc/ssl/certs",
  "/etc/ssl/openssl.cnf",
  "/etc/timezone",
  "/sys/devices/system/cpu",
];

/** Settings of languages and tools. Secrets in /etc are readable by root alone. */
const DEVELOPER_FILES = ["/etc", "/nix/store", "/nix/var/nix/profiles"];

const HOME_FOLDERS = [
  ".asdf",
  ".bun",
  ".cargo/bin",
  ".deno",
  ".jenv",
  ".local/bin",
  ".nix-profile",
  ".nvm",
  ".pyenv",
  ".rbenv",
  ".rustup",
  ".volta",
  "anaconda3",
  "mambaforge",
  "micromamba",
  "miniconda3",
];

export interface ReadPathOptions {
  readonly profile: Profile;
  readonly environment: Environment;
  /** Home of the server's user. */
  readonly home: string;
  /** Paths that an interpreter reports. */
  readonly extra: readonly string[];
}

/** Existing absolute paths, none within another; a symbolic link is followed by its target. */
export function readPaths({ profile, environment, home, extra }: ReadPathOptions): readonly string[] {
  const toolchains = profile === "developer" ? toolchainPaths(environment, home) : [];
  const wanted = [
    ...SYSTEM,
    ...SYSTEM_FILES,
    ...(profile === "developer" ? DEVELOPER_FILES : []),
    ...[...toolchains, ...extra].filter((path) => isNarrow(path, home)),
  ];
  const found = wanted.flatMap((path) => (existsSync(path) ? [path, realpathSync(path)] : []));
  const all = new Set(found);
  return [...all].filter((path) => !foldersAbove(path).some((parent) => all.has(parent)));
}

function toolchainPaths(environment: Environment, home: string): readonly string[] {
  const lists = ["PATH", ...TOOLCHAIN_LISTS].flatMap((name) => (environment[name] ?? "").split(/[:\s]/));
  const folders = TOOLCHAIN_FOLDERS.map((name) => environment[name] ?? "");
  return [...lists, ...folders, ...HOME_FOLDERS.map((name) => join(home, name))];
}

/** Folders that contain more than toolchains. */
const WIDE = [
  "/home",
  "/root",
  "/tmp",
  "/var/tmp",
  "/var",
  "/etc",
  "/run",
  "/dev",
  "/proc",
  "/sys",
  "/mnt",
  "/media",
];

/** False for a path that contains a home or a system folder without programs. */
function isNarrow(path: string, home: string): boolean {
  if (!isAbsolute(path)) return false;
  const holds = (inner: string): boolean => !relative(path, inner).startsWith("..");
  const isOfSystem = /^\/(proc|sys|dev|run)(\/|$)/.test(path);
  return !isOfSystem && ![home, ...WIDE].some(holds);
}
