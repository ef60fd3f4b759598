// Ollama's way to download and delete models: /api/pull, /api/delete. Absent as the routes below /v1/hub are.

import { Elysia } from "elysia";
import { isErrorCode, ServiceError } from "../../core/error.ts";
import type { Hub, HubPull, WatchedPull } from "../../core/hub.ts";
import {
  OLLAMA_PULL_END,
  OllamaPullLines,
  OllamaPullProgress,
  parseOllamaDelete,
  parseOllamaPull,
} from "../../dialects/ollama/pull.ts";
import { OllamaDeleteRequest, OllamaPullRequest } from "../../dialects/ollama/schema.ts";
import { readObjectOfAnyType } from "../body.ts";
import type { HttpDeps } from "../deps.ts";
import { hubFor, pullFrames } from "../hub.ts";
import { plainName } from "../model-name.ts";
import type { ApiComponents } from "../openapi.ts";
import { cancelled, refuseWhileDraining } from "../run.ts";
import { ndjsonResponse } from "../sse.ts";

const tags = ["Ollama"];
const parse = "none" as const; // body.ts reads it

/** Routes that change the models; none where the operator forbids it. */
export function ollamaPullRoutes(deps: HttpDeps, components: ApiComponents) {
  const app = new Elysia();
  if (deps.hub === undefined) return app;
  return app
    .post("/api/pull", ({ request }) => pull(deps, request), {
      parse,
      detail: {
        operationId: "ollama_pull",
        description: "Streams its progress as lines of JSON unless `stream` is false.",
        tags,
        summary: "Download a model of the hub, in Ollama's dialect",
        requestBody: components.body(OllamaPullRequest),
        responses: components.lineAnswers(OllamaPullProgress),
      },
    })
    .delete("/api/delete", ({ request }) => remove(deps, request), {
      parse,
      detail: {
        operationId: "ollama_delete",
        description: "A model that is loaded or configured is refused.",
        tags,
        summary: "Delete a downloaded model, in Ollama's dialect",
        requestBody: components.body(OllamaDeleteRequest),
        responses: { 200: { description: "It is gone." }, default: components.error() },
      },
    });
}

async function pull(deps: HttpDeps, request: Request): Promise<Response> {
  refuseWhileDraining(deps);
  const hub = hubFor(deps, request);
  const { model, stream } = parseOllamaPull(await readObjectOfAnyType(request));
  const watched = await hub.pull({ source: sourceOf(model) }, request.signal);
  const abort = new AbortController();
  // As with Ollama, a download ends with its client, unless another one watches it.
  abort.signal.addEventListener("abort", () => setImmediate(() => hub.leave(watched.now().id)), {
    once: true,
  });
  request.signal.addEventListener("abort", () => abort.abort(), { once: true });
  if (!stream) return whole(watched, abort.signal);
  const lines = new OllamaPullLines();
  return ndjsonResponse(
    pullFrames(watched.states(abort.signal), (state) => lines.encode(state)),
    abort,
  );
}

async function whole(watched: WatchedPull, signal: AbortSignal): Promise<Response> {
  for await (const state of watched.states(signal)) {
    if (state.status === "completed") return Response.json(OLLAMA_PULL_END);
    if (state.status === "failed") throw failureOf(state);
    if (state.status === "paused")
      throw new ServiceError("hub_unavailable", "the download was paused; pull the model again to resume");
  }
  throw cancelled();
}

function failureOf({ error }: HubPull): ServiceError {
  const { code = "hub_unavailable", message = "the download failed" } = error ?? {};
  return new ServiceError(isErrorCode(code) ? code : "hub_unavailable", message);
}

/** Names of Ollama's own library have no owner, or the owner `library`. */
function sourceOf(model: string): string {
  const name = plainName(model);
  if (name.includes("/") && !/^(?:registry\.)?(?:ollama\.(?:ai|com)\/|library\/)/.test(name)) return name;
  const message = `model ${JSON.stringify(model.slice(0, 200))} is not on the hub; models come from the Hugging Face hub: name a repository, such as hf.co/Qwen/Qwen3-0.6B-GGUF:Q8_0`;
  throw new ServiceError("hub_model_not_found", message, { param: "model" });
}

async function remove(deps: HttpDeps, request: Request): Promise<Response> {
  const hub: Hub = hubFor(deps, request);
  await hub.remove(plainName(parseOllamaDelete(await readObjectOfAnyType(request))));
  return new Response(null, { status: 200 });
}
