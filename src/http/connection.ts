// The connections on which requests come.

/** The connection that a request came on. */
export interface Connection {
  /** Address of its other end. */
  readonly peer: () => string;
  /** Port of its other end; 0 once it is gone. */
  readonly peerPort: () => number;
  /** The port that it came to. */
  readonly ownPort: number;
  /** Told once the whole answer has been made, just before the end of it is written. */
  readonly answered: () => void;
}

const connections = new WeakMap<Request, Connection>();

/** Notes the connection of a request that is about to be handled. */
export function cameOn(request: Request, connection: Connection): void {
  connections.set(request, connection);
}

/** The connection that a request came on; undefined where it came on none. */
export function connectionOf(request: Request): Connection | undefined {
  return connections.get(request);
}
