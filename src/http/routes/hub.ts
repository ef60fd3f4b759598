// Models of the hub: search, files and fit, pulls, deletion. Absent for clients that may not change the models of this server.

import { Elysia } from "elysia";
import { ServiceError } from "../../core/error.ts";
import {
  HUB_SORTS,
  HubDeletedModel,
  HubDeletedPull,
  type HubQuery,
  HubInstalledResponse,
  HubPull,
  HubPullList,
  HubPullRequest,
  HubRepositoryDetails,
  HubSearchResponse,
  type WatchedPull,
} from "../../core/hub.ts";
import { checker } from "../../dialects/shared/check.ts";
import { readJsonObject } from "../body.ts";
import type { HttpDeps } from "../deps.ts";
import { KEEP_ALIVE_MS } from "../limits.ts";
import type { ApiComponents } from "../openapi.ts";
import { refuseWhileDraining } from "../run.ts";
import { sseResponse } from "../sse.ts";
import { hubFor, pullFrames } from "../hub.ts";
import { choiceRoutes } from "./choices.ts";

const tags = ["Hub"];
const parse = "none" as const; // body.ts reads it
const SEARCH_LIMIT = { usual: 20, max: 100 };
const REPOSITORY = "/v1/hub/models/:owner/:name";

const checkPull = checker(HubPullRequest);

const query = (name: string, description: string, required = false) => ({
  name,
  in: "query",
  required,
  description,
  schema: { type: "string" as const },
});

/** Routes of the hub; none where the operator forbids them. */
export function hubRoutes(deps: HttpDeps, components: ApiComponents) {
  const app = new Elysia();
  if (deps.hub === undefined) return app;
  return app
    .use(repositoryRoutes(deps, components))
    .use(pullRoutes(deps, components))
    .use(choiceRoutes(deps, components));
}

function repositoryRoutes(deps: HttpDeps, components: ApiComponents) {
  const details = (request: Request, name: string) =>
    json(hubFor(deps, request).repository(name, request.signal));
  const remove = (request: Request, name: string) => json(hubFor(deps, request).remove(name));
  return (
    new Elysia()
      .get("/v1/hub/search", ({ request }) => search(deps, request), {
        detail: {
          operationId: "search_hub",
          description:
            "The most downloaded first, with sizes and whether they fit this machine where that is known.",
          tags,
          summary: "Search the hub for models that svc can run",
          parameters: [
            query("q", "Words of the repository's name; absent: all repositories."),
            query("sort", `\`${HUB_SORTS.join("`, `")}\`; default: downloads.`),
            query("limit", `1 to ${SEARCH_LIMIT.max}; default: ${SEARCH_LIMIT.usual}.`),
          ],
          responses: components.answers("Repositories with GGUF files.", HubSearchResponse),
        },
      })
      .get("/v1/hub/models", ({ request }) => Response.json(hubFor(deps, request).installed()), {
        detail: {
          operationId: "list_hub_models",
          description: "Downloaded models with their sizes, and the room that is left.",
          tags,
          summary: "List the models on this machine",
          responses: components.answers("The models, by id.", HubInstalledResponse),
        },
      })
      .get(REPOSITORY, ({ request, params }) => details(request, `${params.owner}/${params.name}`), {
        detail: {
          operationId: "get_hub_repository",
          description: "Without a download. Sizes are of the files, memory is estimated.",
          tags,
          summary: "List the files of a repository, and which of its models fit this machine",
          responses: components.answers("The repository.", HubRepositoryDetails),
        },
      })
      .delete(REPOSITORY, ({ request, params }) => remove(request, `${params.owner}/${params.name}`), {
        detail: {
          operationId: "delete_hub_model",
          description: "A model that is loaded or configured is refused.",
          tags,
          summary: "Delete a downloaded model, or all of a repository; `name` may end in `:Q4_K_M`",
          responses: {
            ...components.answers("What is gone.", HubDeletedModel),
            409: components.error("`model_in_use`"),
          },
        },
      })
      // For clients that escape the slash.
      .get("/v1/hub/models/:owner", ({ request, params }) => details(request, params.owner), {
        detail: { hide: true },
      })
      .delete("/v1/hub/models/:owner", ({ request, params }) => remove(request, params.owner), {
        detail: { hide: true },
      })
  );
}

function pullRoutes(deps: HttpDeps, components: ApiComponents) {
  return new Elysia()
    .post("/v1/hub/pull", ({ request }) => pull(deps, request), {
      parse,
      detail: {
        operationId: "pull_model",
        description:
          "Goes on where an earlier download of the source stopped, and verifies the files. With `stream: true` the progress as server-sent events.",
        tags,
        summary: "Download a model, resume a download, or watch one that is under way",
        requestBody: components.body(HubPullRequest),
        responses: components.generationAnswers(HubPull, HubPull),
      },
    })
    .get(
      "/v1/hub/pulls",
      ({ request }) => Response.json({ object: "list", data: hubFor(deps, request).pulls() }),
      {
        detail: {
          operationId: "list_pulls",
          description: "Finished and failed ones included.",
          tags,
          summary: "List downloads since the start of the server",
          responses: components.answers("The downloads.", HubPullList),
        },
      },
    )
    .get("/v1/hub/pulls/:id", ({ request, params }) => watch(deps, request, params.id), {
      detail: {
        operationId: "get_pull",
        description: "Progress, speed and, of a failed one, the reason.",
        tags,
        summary: "State of a download",
        parameters: [query("stream", "`true`: server-sent events until it ends.")],
        responses: components.generationAnswers(HubPull, HubPull),
      },
    })
    .post(
      "/v1/hub/pulls/:id/pause",
      async ({ request, params }) => Response.json(await hubFor(deps, request).pause(params.id)),
      {
        parse,
        detail: {
          operationId: "pause_pull",
          description: "Nothing that was downloaded is lost.",
          tags,
          summary: "Stop a download and keep what has come; another pull of its source resumes it",
          responses: components.answers("The download.", HubPull),
        },
      },
    )
    .delete("/v1/hub/pulls/:id", ({ request, params }) => discard(deps, request, params.id), {
      detail: {
        operationId: "delete_pull",
        description: "The space is free again.",
        tags,
        summary: "Stop a download and delete what has come; a completed model stays",
        responses: components.answers("It is gone.", HubDeletedPull),
      },
    });
}

async function search(deps: HttpDeps, request: Request): Promise<Response> {
  const hub = hubFor(deps, request);
  const data = await hub.search(readQuery(new URL(request.url).searchParams), request.signal);
  return Response.json({ object: "list", data });
}

async function json(body: Promise<unknown>): Promise<Response> {
  return Response.json(await body);
}

function readQuery(params: URLSearchParams): HubQuery {
  const sort = params.get("sort") ?? "downloads";
  const known = HUB_SORTS.find((name) => name === sort);
  if (known === undefined)
    throw new ServiceError("unsupported_value", `sort must be one of: ${HUB_SORTS.join(", ")}`, {
      param: "sort",
    });
  const limit = Number(params.get("limit") ?? SEARCH_LIMIT.usual);
  if (!Number.isInteger(limit) || limit < 1 || limit > SEARCH_LIMIT.max)
    throw new ServiceError("unsupported_value", `limit must be an integer from 1 to ${SEARCH_LIMIT.max}`, {
      param: "limit",
    });
  const text = (params.get("q") ?? "").trim();
  if (text.length > 200)
    throw new ServiceError("unsupported_value", "q must have at most 200 characters", { param: "q" });
  return { text, sort: known, limit };
}

async function pull(deps: HttpDeps, request: Request): Promise<Response> {
  refuseWhileDraining(deps);
  const hub = hubFor(deps, request);
  const body = checkPull(await readJsonObject(request));
  const watched = await hub.pull(body, request.signal);
  return body.stream === false ? Response.json(watched.now()) : streamOf(deps, request, watched);
}

function watch(deps: HttpDeps, request: Request, id: string): Response {
  const watched = hubFor(deps, request).pullOf(id);
  const isStream = new URL(request.url).searchParams.get("stream") === "true";
  return isStream ? streamOf(deps, request, watched) : Response.json(watched.now());
}

/** The download goes on when its watcher leaves. */
function streamOf(
  { keepAliveMs = KEEP_ALIVE_MS }: HttpDeps,
  request: Request,
  watched: WatchedPull,
): Response {
  const abort = new AbortController();
  request.signal.addEventListener("abort", () => abort.abort(), { once: true });
  const encode = (state: HubPull): string =>
    `event: pull.${state.status}\ndata: ${JSON.stringify(state)}\n\n`;
  return sseResponse(pullFrames(watched.states(abort.signal), encode), { abort, keepAliveMs });
}

async function discard(deps: HttpDeps, request: Request, id: string): Promise<Response> {
  await hubFor(deps, request).discard(id);
  return Response.json({ id, object: "hub.pull", deleted: true });
}
