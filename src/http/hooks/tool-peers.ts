// Blocks tool processes from this server's port if the sandbox cannot: a model could approve its own actions.

import { ServiceError } from "../../core/error.ts";
import type { Connection } from "../connection.ts";

/** Whether the other end of a connection is a process that tools run. */
export type IsToolPeer = (
  peer: { readonly address: string; readonly port: number },
  ownPort: number,
) => boolean;

/** Throws `origin_not_allowed` for a connection of a tool. Nothing is known of a request without a connection. */
export function refuseToolPeer(isToolPeer: IsToolPeer, connection: Connection | undefined): void {
  if (connection === undefined) return;
  const peer = { address: connection.peer(), port: connection.peerPort() };
  if (!isToolPeer(peer, connection.ownPort)) return;
  const message = "programs that a model runs on this machine may not use this server";
  throw new ServiceError("origin_not_allowed", message);
}
