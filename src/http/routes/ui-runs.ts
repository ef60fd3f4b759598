// /ui/runs/{id}: joins and ends answers of the web interface that the server holds. Hidden from the API's document: the id comes
// from the page that asked.

import { Elysia } from "elysia";
import type { HttpDeps } from "../deps.ts";
import type { HeldRuns } from "../held-runs.ts";
import { KEEP_ALIVE_MS } from "../limits.ts";
import { callerOf } from "../observe.ts";
import { type FrameSource, sseResponse } from "../sse.ts";

/** Header by which the page names the run of a streamed chat completion. */
export const RUN_HEADER = "x-svc-run";

const HIDDEN = { detail: { hide: true } };

/** Routes of held runs. */
export function uiRunRoutes(deps: HttpDeps, runs: HeldRuns) {
  return new Elysia()
    .get(
      "/ui/runs/:id",
      ({ request, params }) => joinRun(deps, request, runs.find(params.id, callerOf(request)).reader()),
      HIDDEN,
    )
    .delete(
      "/ui/runs/:id",
      ({ request, params }) => {
        runs.find(params.id, callerOf(request)).abort.abort();
        return new Response(null, { status: 204 });
      },
      HIDDEN,
    );
}

/** Streams the frames of a held run. A client that leaves ends nothing but its own reading. */
export function joinRun(deps: HttpDeps, { signal }: Request, reader: FrameSource): Response {
  signal.addEventListener("abort", () => void reader.close(), { once: true });
  if (!signal.aborted)
    return sseResponse(reader, {
      abort: new AbortController(),
      keepAliveMs: deps.keepAliveMs ?? KEEP_ALIVE_MS,
    });
  void reader.close();
  return new Response(null); // never read, so its stream would never be cancelled
}
