// Lets the kernel hold as many connections as it may until the server accepts them. The runtime asks for 512, which a burst
// of clients fills while the server is busy; the kernel drops what comes beyond.

import { dlopen } from "bun:ffi";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** listen(2) takes less where net.core.somaxconn is less. */
const BACKLOG = 65_535;
const LISTEN_STATE = "0A";

/** Raises the backlog of this process's listening sockets: of a port, or of a UNIX socket's path. Does nothing on systems other than Linux. */
export function raiseBacklog(place: number | string): void {
  if (process.platform !== "linux") return;
  try {
    const inodes = typeof place === "number" ? listeningInodes(place) : socketInodes(place);
    const { symbols } = dlopen("libc.so.6", { listen: { args: ["i32", "i32"], returns: "i32" } });
    for (const name of readdirSync("/proc/self/fd")) {
      if (inodes.has(targetOf(name))) symbols.listen(Number(name), BACKLOG);
    }
  } catch {
    // another C library, or no /proc: the runtime's backlog holds
  }
}

/** As /proc/self/fd links to them. */
function listeningInodes(port: number): ReadonlySet<string> {
  const hex = port.toString(16).toUpperCase().padStart(4, "0");
  const lines = ["tcp", "tcp6"].flatMap((table) =>
    readFileSync(`/proc/self/net/${table}`, "utf8").split("\n").slice(1),
  );
  const columns = lines.map((line) => line.trim().split(/\s+/));
  const listening = columns.filter(
    ([, local, , state]) => state === LISTEN_STATE && local?.endsWith(`:${hex}`),
  );
  return new Set(listening.map((line) => `socket:[${line[9]}]`));
}

function socketInodes(path: string): ReadonlySet<string> {
  const lines = readFileSync("/proc/self/net/unix", "utf8").split("\n");
  const own = lines.filter((line) => line.endsWith(` ${path}`));
  return new Set(own.map((line) => `socket:[${line.trim().split(/\s+/)[6]}]`));
}

function targetOf(name: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${name}`);
  } catch {
    return ""; // closed meanwhile
  }
}
