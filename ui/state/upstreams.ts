// The upstream servers of models, from the system information.

import { signal } from "@preact/signals";
import type { SystemInfo, SystemUpstream } from "../../src/core/system.ts";
import { sendIfAvailable } from "../api/client.ts";

/** Upstreams by the id of their model. Undefined until loaded. */
export const upstreams = signal<ReadonlyMap<string, readonly SystemUpstream[]> | undefined>(undefined);

/** Loads them. A server without any is asked once: only a restart gives it some. */
export async function loadUpstreams(): Promise<void> {
  if (upstreams.value?.size === 0) return;
  let info: SystemInfo | undefined;
  try {
    info = await sendIfAvailable<SystemInfo>("v1/system/info");
  } catch {
    return; // loading the models fails too and reports the error
  }
  upstreams.value = new Map(
    (info?.models ?? []).flatMap(({ id, upstreams: servers }) =>
      servers === undefined ? [] : [[id, servers]],
    ),
  );
}
