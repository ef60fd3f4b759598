// POST /v1/responses and the routes of stored responses. Each step is a function of another module.

import { Elysia, NotFoundError } from "elysia";
import type { AnswerEvent } from "../../core/agent.ts";
import type { Caller } from "../../core/caller.ts";
import { ServiceError } from "../../core/error.ts";
import type { ResponseStore } from "../../responses/store.ts";
import { KEEP_ALIVE_MS } from "../limits.ts";
import { ResponsesStreamEvent } from "../../dialects/responses/events.ts";
import {
  compactBody,
  CompactedResponse,
  compactedResponse,
  compactionOf,
} from "../../dialects/responses/compact-response.ts";
import { parseResponsesRequest, type ResponsesCall } from "../../dialects/responses/request.ts";
import {
  DeletedResponse,
  InputTokens,
  type ResponseHead,
  ResponseResource,
} from "../../dialects/responses/resource.ts";
import { ResponseFold } from "../../dialects/responses/response.ts";
import { ResponsesCreateRequest } from "../../dialects/responses/schema.ts";
import { withErrorTerms, RESPONSES_TERMS } from "../../dialects/shared/error-terms.ts";
import type { FrameEncoder } from "../../dialects/shared/frame.ts";
import { ResponseStream } from "../../dialects/responses/stream.ts";
import { withResponsesPreset } from "../../dialects/shared/preset.ts";
import { answerMeta, fingerprintHeader } from "../answer.ts";
import { requestCompat } from "../compat.ts";
import type { HttpDeps } from "../deps.ts";
import { toErrorData } from "../errors.ts";
import { InputItemList, listInputItems } from "../input-items.ts";
import { readGeneration } from "../model-body.ts";
import { callerOf } from "../observe.ts";
import type { ApiComponents } from "../openapi.ts";
import {
  type Client,
  clientOf,
  countPrompt,
  foldRun,
  refuseWhileDraining,
  type StartOptions,
  startRun,
} from "../run.ts";
import { sseResponse } from "../sse.ts";
import { streamRun } from "../stream-run.ts";
import { numberIn } from "../query-number.ts";

const ONE = "/v1/responses/:response_id";

const query = (name: string, description: string, schema: object) =>
  ({ name, in: "query", required: false, description, schema }) as const;
const INTEGER = { type: "integer", minimum: 0 };

/** Routes of the Responses dialect. */
export function responseRoutes(deps: HttpDeps, components: ApiComponents) {
  return new Elysia()
    .post("/v1/responses", ({ request }) => createResponse(deps, request), {
      parse: "none", // body.ts reads it
      detail: {
        operationId: "create_response",
        description:
          "Items in and out, as OpenAI's newer clients send them. A response is stored unless `store` is false; `previous_response_id` continues it, and `background` runs it without its client.",
        tags: ["Generation"],
        summary: "Create a response",
        requestBody: components.body(ResponsesCreateRequest),
        responses: components.generationAnswers(ResponseResource, ResponsesStreamEvent),
      },
    })
    .post("/v1/responses/input_tokens", ({ request }) => countTokens(deps, request), {
      parse: "none",
      detail: {
        operationId: "count_response_input_tokens",
        description: "Takes the body of a response; generates nothing.",
        tags: ["Counting"],
        summary: "Count the input tokens of a response request",
        requestBody: components.body(ResponsesCreateRequest),
        responses: components.answers("The number of tokens.", InputTokens),
      },
    })
    .post("/v1/responses/compact", ({ request }) => compact(deps, request), {
      parse: "none",
      detail: {
        operationId: "compact_response",
        description:
          "Takes the body of a response; generates a summary of its conversation and no answer. Returns the user's messages and a `compaction` item, as the input of the next request.",
        tags: ["Responses"],
        summary: "Compact a conversation",
        requestBody: components.body(ResponsesCreateRequest),
        responses: components.answers("The compacted conversation.", CompactedResponse),
      },
    })
    .use(storedRoutes(deps, components));
}

/** Routes of stored responses. */
function storedRoutes(deps: HttpDeps, components: ApiComponents) {
  const tags = ["Responses"];
  return new Elysia()
    .get(ONE, ({ params, request }) => fetchResponse(deps, idOf(params), request), {
      detail: {
        operationId: "get_response",
        description: "With `stream=true` the events of a background response that was created with `stream`.",
        tags,
        summary: "Get a stored response, or stream a background response",
        parameters: [
          query("stream", "Stream its events.", { type: "boolean" }),
          query("starting_after", "`sequence_number` of the last event that came.", INTEGER),
        ],
        responses: components.generationAnswers(ResponseResource, ResponsesStreamEvent),
      },
    })
    .delete(ONE, ({ request, params }) => deleteResponse(deps, idOf(params), callerOf(request)), {
      detail: {
        operationId: "delete_response",
        description: "It cannot be fetched or continued any more.",
        tags,
        summary: "Delete a stored response",
        responses: components.answers("The response was deleted.", DeletedResponse),
      },
    })
    .post(`${ONE}/cancel`, ({ request, params }) => cancelled(deps, params.response_id, callerOf(request)), {
      parse: "none", // there is nothing to read
      detail: {
        operationId: "cancel_response",
        description: "What has been generated stays in the response.",
        tags,
        summary: "Cancel an unfinished background response",
        responses: components.answers("The final response.", ResponseResource),
      },
    })
    .get(`${ONE}/input_items`, ({ params, request }) => inputItems(deps, params.response_id, request), {
      detail: {
        operationId: "list_response_input_items",
        description: "What the request itself brought, without earlier responses.",
        tags,
        summary: "List the input items of a response",
        parameters: [
          query("limit", "Most items of a page.", INTEGER),
          query("order", "`desc`: the latest first.", { type: "string", enum: ["asc", "desc"] }),
          query("after", "Id of the item before the page.", { type: "string" }),
        ],
        responses: components.answers("The items, latest first.", InputItemList),
      },
    });
}

/** The id in a path. The name of a POST route is no id; a GET of it is the wrong method. */
function idOf({ response_id: id }: { readonly response_id: string }): string {
  if (id === "input_tokens" || id === "compact") throw new NotFoundError();
  return id;
}

async function createResponse(deps: HttpDeps, request: Request): Promise<Response> {
  refuseWhileDraining(deps);
  const client = clientOf(request);
  const responses = deps.responses(client.caller);
  const call = parseResponsesRequest(
    await readGeneration(deps, request, withResponsesPreset),
    responses,
    requestCompat(deps),
  );
  if (call.background) return startBackground(deps, call, client.caller);
  const { names } = call;
  const options = {
    head: headOf(deps, call),
    choices: call.run.choices,
    names,
    clock: unixSeconds,
  };
  if (call.stream) {
    const encoder = storing(deps, responses, call, new ResponseStream(options));
    const start = (watch: StartOptions) => accepted(deps, call, client, watch);
    return streamRun(deps, { start, encoderOf: () => encoder });
  }
  const started = await accepted(deps, call, client);
  const fold = new ResponseFold(options);
  await foldRun(started, fold);
  if (call.store) responses.keep(call, fold.builder);
  const body = fold.body();
  return Response.json(body, { headers: fingerprintHeader([body]) });
}

async function accepted(deps: HttpDeps, { run, agent }: ResponsesCall, client: Client, watch?: StartOptions) {
  return withErrorTerms(RESPONSES_TERMS, startRun(deps.converse, { run, agent }, client, watch));
}

/** Counts the input tokens of a response request. */
async function countTokens(deps: HttpDeps, request: Request): Promise<Response> {
  refuseWhileDraining(deps);
  const body = await readGeneration(deps, request, withResponsesPreset);
  const client = clientOf(request);
  const call = parseResponsesRequest(body, deps.responses(client.caller), requestCompat(deps));
  const counted = { ...call, run: { ...call.run, countOnly: true } };
  const tokens = await countPrompt(await accepted(deps, counted, client));
  return Response.json({ object: "response.input_tokens", input_tokens: tokens });
}

async function compact(deps: HttpDeps, request: Request): Promise<Response> {
  refuseWhileDraining(deps);
  const body = compactBody(await readGeneration(deps, request, withResponsesPreset));
  const client = clientOf(request);
  const responses = deps.responses(client.caller);
  const call = parseResponsesRequest(body, responses, requestCompat(deps));
  const input = [...responses.inputsUntil(call.echo.previous_response_id), ...call.input];
  const short = { ...call, ...compactionOf(call, body) };
  const fold = new ResponseFold({
    head: headOf(deps, call),
    choices: 1,
    names: call.names,
    clock: unixSeconds,
  });
  await foldRun(await accepted(deps, short, client), fold);
  return Response.json(compactedResponse(fold.body(), input));
}

function headOf(deps: HttpDeps, call: ResponsesCall): ResponseHead {
  const { id, created, model } = answerMeta(deps, call.run.model, "resp_");
  return { id, created, model, echo: call.echo, ...(call.summarizes ? { summarizes: true } : {}) };
}

function unixSeconds(): number {
  return Math.floor(Date.now() / 1000);
}

function startBackground(deps: HttpDeps, call: ResponsesCall, caller: Caller): Response {
  const resource = deps.background.start(call, headOf(deps, call), caller);
  return call.stream ? followed(deps, resource.id, -1, caller) : Response.json(resource);
}

/** Stores the response before its last frame is sent, so that a client can continue from it immediately. */
function storing(
  deps: HttpDeps,
  responses: ResponseStore,
  call: ResponsesCall,
  stream: ResponseStream,
): FrameEncoder<AnswerEvent> {
  /** The answer is complete, so a failure to store it does not fail the request. */
  const keep = (): void => {
    try {
      responses.keep(call, stream.builder);
    } catch (thrown) {
      deps.log(`a response could not be stored: ${toErrorData(thrown, deps.log).message}`);
    }
  };
  return {
    add(event: AnswerEvent): string {
      const frames = stream.add(event);
      if (call.store && frames !== "" && stream.builder.isFinal) keep();
      return frames;
    },
  };
}

function keepAliveMs(deps: HttpDeps): number {
  return deps.keepAliveMs ?? KEEP_ALIVE_MS;
}

function fetchResponse(deps: HttpDeps, id: string, request: Request): Response {
  const caller = callerOf(request);
  const resource = deps.background.running(id, caller) ?? deps.responses(caller).resource(id);
  const { searchParams } = new URL(request.url);
  if (!isSet(searchParams, "stream")) return Response.json(resource);
  return followed(deps, id, numberIn(searchParams, "starting_after", { min: 0 }) ?? -1, caller);
}

function isSet(query: URLSearchParams, param: string): boolean {
  const text = query.get(param);
  if (text === null || text === "true" || text === "false") return text === "true";
  throw new ServiceError("invalid_request", `${param} must be true or false`, { param });
}

/** The stream of a background response. A disconnect ends the stream but not the response. */
function followed(deps: HttpDeps, id: string, after: number, caller: Caller): Response {
  const frames = deps.background.frames(id, after, caller);
  if (frames !== undefined) {
    return sseResponse(frames, { abort: new AbortController(), keepAliveMs: keepAliveMs(deps) });
  }
  const message =
    "stream: this response has no stored events: they are kept for responses created with background: true and stream: " +
    "true, until newer ones evict them; omit stream to get the response";
  throw new ServiceError("invalid_request", message, { param: "stream" });
}

function cancelled({ background }: HttpDeps, id: string, caller: Caller): Response {
  return Response.json(background.cancel(id, caller));
}

function deleteResponse({ background, responses }: HttpDeps, id: string, caller: Caller): Response {
  if (background.running(id, caller) !== undefined) background.cancel(id, caller);
  background.forget(id, caller);
  responses(caller).delete(id);
  return Response.json({ id, object: "response", deleted: true });
}

function inputItems(deps: HttpDeps, id: string, request: Request): Response {
  return Response.json(
    listInputItems(deps.responses(callerOf(request)).input(id), new URL(request.url).searchParams),
  );
}
