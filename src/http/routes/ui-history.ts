// /ui/history: conversations of the web interface that follow a person to another browser. Hidden from the API's document.

import { Elysia } from "elysia";
import type { ForCaller } from "../../core/caller.ts";
import { ServiceError } from "../../core/error.ts";
import type { History } from "../../core/history.ts";
import { readJsonObject } from "../body.ts";
import { callerOf } from "../observe.ts";

const ID = /^[\w-]{1,64}$/;
const HIDDEN = { detail: { hide: true } };
const RAW = { ...HIDDEN, parse: "none" } as const; // body.ts reads it

/** Where none is kept, the page receives a list that says so: an error would stand in the browser's console at each visit. */
export function noHistoryRoute() {
  return new Elysia().get("/ui/history", () => Response.json({ conversations: null }), HIDDEN);
}

/** Routes of the history. */
export function uiHistoryRoutes(historyFor: ForCaller<History>) {
  const historyOf = (request: Request): History => historyFor(callerOf(request));
  return new Elysia()
    .get("/ui/history", ({ request }) => Response.json({ conversations: historyOf(request).list() }), HIDDEN)
    .get(
      "/ui/history/:id",
      ({ request, params }) => {
        const { item, content } = historyOf(request).get(params.id);
        return new Response(content, {
          headers: { "content-type": "application/json", "x-svc-version": String(item.version) },
        });
      },
      HIDDEN,
    )
    .put("/ui/history/:id", ({ request, params }) => put(historyOf(request), request, params.id), RAW)
    .delete(
      "/ui/history/:id",
      ({ request, params }) => Response.json(historyOf(request).delete(params.id)),
      HIDDEN,
    );
}

async function put(history: History, request: Request, id: string): Promise<Response> {
  if (!ID.test(id)) {
    throw new ServiceError("invalid_request", "the id must have 1 to 64 letters, digits, - or _");
  }
  const base = baseOf(new URL(request.url).searchParams.get("version"));
  const content = Buffer.from(JSON.stringify(await readJsonObject(request)));
  return Response.json(await history.put(id, base, Uint8Array.from(content)));
}

function baseOf(text: string | null): number {
  const base = Number(text);
  if (text !== null && /^\d+$/.test(text) && Number.isSafeInteger(base)) return base;
  const message =
    "version must be the version of the conversation that this one replaces: an integer, 0 for a new one";
  throw new ServiceError("invalid_request", message, { param: "version" });
}
