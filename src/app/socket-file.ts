// The file of a UNIX socket before the server listens there: one that a killed server has left is removed, any other is kept.
// Requests of a socket count as 127.0.0.1, as behind a proxy on loopback; Bun does not tell the peer's credentials.

import { lstatSync, type Stats, unlinkSync } from "node:fs";
import { connect } from "node:net";
import { socketPathOf } from "../core/listen-addresses.ts";
import { StartError } from "../core/start-error.ts";

/**
 * Removes a socket on which nothing listens. `host`: as configured; of an address nothing happens. Throws StartError for a file that is
 * no socket.
 */
export async function freeSocketFile(host: string): Promise<void> {
  const path = socketPathOf(host);
  const found = path === undefined ? undefined : statsOf(path);
  if (path === undefined || found === undefined) return;
  if (!found.isSocket()) {
    const problem = "there is a file or folder of that name, which is no socket";
    throw new StartError(`cannot listen on ${host}: ${problem}. Choose another with --host unix:PATH.`);
  }
  if (!(await isRefused(path))) return; // listening says that another program has it
  // Meanwhile another server may have done the same and listen at a new file.
  if (statsOf(path)?.ino === found.ino) unlinkSync(path);
}

function statsOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined; // listening says why the folder cannot be used
  }
}

function isRefused(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    socket.once("connect", () => {
      socket.destroy();
      resolve(false);
    });
    socket.once("error", (error: NodeJS.ErrnoException) => resolve(error.code === "ECONNREFUSED"));
  });
}
