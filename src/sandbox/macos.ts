// Confinement by macOS's sandbox-exec(1), whose profile is a text. No caps: macOS has no such limits that a process cannot raise.

import { realPathOf } from "../core/readable.ts";
import { type Assignment, type Confinement, oneProcess } from "./confinement.ts";
import type { Network } from "./types.ts";

const PROGRAM = "/usr/bin/sandbox-exec";

const READABLE = [
  "/usr",
  "/System",
  "/Library",
  "/private/etc",
  "/private/var/db/dyld",
  "/private/var/db/timezone",
  "/opt/homebrew",
  "/opt/local",
  "/bin",
  "/sbin",
  "/dev/fd",
];

const DEVICES = ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/dtracehelper"];

const NETWORK: Readonly<Record<Network, readonly string[]>> = {
  none: [],
  loopback: [
    '(allow network-bind network-inbound (local ip "localhost:*"))',
    '(allow network-outbound (remote ip "localhost:*"))',
  ],
  full: ["(allow network*)", "(allow system-socket)"],
};

export function sandboxExec(network: Network): Confinement {
  return {
    mechanism: "sandbox-exec",
    network,
    reachesMachine: network === "full",
    command: (job) => {
      const confined = [PROGRAM, "-p", profileText(job, network)];
      const start = ["/bin/sh", "-c", 'cd "$0" && exec "$@"', job.workdir.path];
      return { words: [...confined, ...start, ...job.argv] };
    },
    ...oneProcess,
  };
}

/** The profile in sandbox-exec's language: denies everything that it does not list. */
export function profileText({ workdir, readPaths }: Assignment, network: Network): string {
  const folders = (paths: readonly string[]): string =>
    [...new Set(paths.flatMap((path) => [path, realPathOf(path)]))]
      .map((path) => `(subpath ${JSON.stringify(path)})`)
      .join(" ");
  const devices = DEVICES.map((path) => `(literal ${JSON.stringify(path)})`).join(" ");
  return [
    "(version 1)",
    "(deny default)",
    "(allow process-fork process-exec)",
    "(allow signal (target same-sandbox))",
    "(allow mach* iokit-open sysctl-read file-ioctl file-read-metadata)",
    '(allow file-read* (literal "/"))',
    `(allow file-read* file-map-executable ${folders([...READABLE, ...readPaths])})`,
    `(allow file-read* file-write-data ${devices})`,
    `(allow file-read* file-write* ${folders([workdir.path])})`,
    ...NETWORK[network],
  ].join("\n");
}
