// Which clients may use the hub through this server, and the frames of a pull.

import { ServiceError } from "../core/error.ts";
import type { Hub, HubPull } from "../core/hub.ts";
import type { ModelChanges } from "../core/load-settings.ts";
import type { HttpDeps } from "./deps.ts";
import { connectionOf } from "./connection.ts";
import { observed } from "./observe.ts";
import type { FrameSource } from "./sse.ts";

/** The hub, for clients that may change the models of this server; for others its routes are absent. */
export interface HubAccess {
  readonly hub: Hub;
  readonly changes: ModelChanges;
  /** `peer`: address of the other end of the connection; undefined without one. */
  readonly isAllowed: (peer: string | undefined, headers: Headers) => boolean;
}

/** The hub for a request. Throws `route_not_found` where its client may not use it. */
export function hubFor(deps: HttpDeps, request: Request): Hub {
  return accessFor(deps, request).hub;
}

/** What the client of a request may choose for models. Throws `route_not_found` where it may not. */
export function changesFor(deps: HttpDeps, request: Request): ModelChanges {
  return accessFor(deps, request).changes;
}

function accessFor({ hub: access }: HttpDeps, request: Request): HubAccess {
  const peer = connectionOf(request)?.peer();
  if (access !== undefined && access.isAllowed(peer, request.headers)) return access;
  const message = `there is no route ${request.method} ${observed()?.path ?? ""} for this client: models are changed from this machine, with an API key, or with --models-mutable`;
  throw new ServiceError("route_not_found", message);
}

/** The states of a pull as frames; a state without one is left out. */
export function pullFrames(states: AsyncGenerator<HubPull>, encode: (state: HubPull) => string): FrameSource {
  return {
    async next() {
      for (;;) {
        const next = await states.next();
        if (next.done === true) return undefined;
        const frame = encode(next.value);
        if (frame !== "") return frame;
      }
    },
    close: async () => void (await states.return(undefined)),
  };
}
