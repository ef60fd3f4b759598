// Ollama's dialect under /api: body → conversation or run → body or lines of JSON. Each step is a function of another module.

import { ServiceError } from "../../core/error.ts";
import type { AnswerEvent } from "../../core/agent.ts";
import { Elysia } from "elysia";
import {
  loadedBody,
  OllamaChatResponse,
  OllamaEmbeddingsResponse,
  OllamaEmbedResponse,
  OllamaGenerateResponse,
  type OllamaMeta,
  type OllamaShape,
} from "../../dialects/ollama/answer.ts";
import {
  embedBody,
  type OllamaEmbedCall,
  parseOllamaEmbed,
  parseOllamaEmbeddings,
} from "../../dialects/ollama/embed.ts";
import { AnswerReducer } from "../../dialects/shared/answer-reducer.ts";
import type { KeepAlive } from "../../dialects/shared/keep-alive.ts";
import { type OllamaCall, parseOllamaChat, parseOllamaGenerate } from "../../dialects/ollama/request.ts";
import { ollamaBody } from "../../dialects/ollama/response.ts";
import {
  OllamaChatRequest,
  OllamaEmbeddingsRequest,
  OllamaEmbedRequest,
  OllamaGenerateRequest,
} from "../../dialects/ollama/schema.ts";
import { ollamaStream } from "../../dialects/ollama/stream.ts";
import type { EmbedResult } from "../../core/run.ts";
import { fingerprintHeader } from "../answer.ts";
import { requestCompat } from "../compat.ts";
import type { HttpDeps } from "../deps.ts";
import { baseOf, readOllama } from "../ollama-model.ts";
import type { ApiComponents } from "../openapi.ts";
import {
  type Client,
  clientOf,
  foldRun,
  framesOf,
  refuseWhileDraining,
  type StartOptions,
  startRun,
  untilClientLeaves,
} from "../run.ts";
import { streamRun } from "../stream-run.ts";
import { ndjsonResponse } from "../sse.ts";

const TAGS = ["Ollama"];

/** Generation and embedding routes of Ollama's dialect. */
export function ollamaRoutes(deps: HttpDeps, components: ApiComponents) {
  const parse = "none" as const; // body.ts reads it
  return new Elysia()
    .post("/api/chat", ({ request }) => answer(deps, request, "chat"), {
      parse,
      detail: {
        operationId: "ollama_chat",
        description: "Streams lines of JSON unless `stream` is false; without messages it loads the model.",
        tags: TAGS,
        summary: "Chat completion, in Ollama's dialect",
        requestBody: components.body(OllamaChatRequest),
        responses: components.lineAnswers(OllamaChatResponse),
      },
    })
    .post("/api/generate", ({ request }) => answer(deps, request, "generate"), {
      parse,
      detail: {
        operationId: "ollama_generate",
        description: "Streams lines of JSON unless `stream` is false; without a prompt it loads the model.",
        tags: TAGS,
        summary: "Complete a prompt, in Ollama's dialect",
        requestBody: components.body(OllamaGenerateRequest),
        responses: components.lineAnswers(OllamaGenerateResponse),
      },
    })
    .post("/api/embed", ({ request }) => embed(deps, request), {
      parse,
      detail: {
        operationId: "ollama_embed",
        description: "One or several texts; vectors have length 1.",
        tags: TAGS,
        summary: "Embed texts, in Ollama's dialect",
        requestBody: components.body(OllamaEmbedRequest),
        responses: components.answers("One vector per input.", OllamaEmbedResponse),
      },
    })
    .post("/api/embeddings", ({ request }) => embedOne(deps, request), {
      parse,
      detail: {
        operationId: "ollama_embeddings",
        description: "The vector as the model computes it.",
        tags: TAGS,
        summary: "Embed one text, in Ollama's older form",
        requestBody: components.body(OllamaEmbeddingsRequest),
        responses: components.answers("The vector.", OllamaEmbeddingsResponse),
      },
    });
}

async function answer(deps: HttpDeps, request: Request, shape: OllamaShape): Promise<Response> {
  refuseWhileDraining(deps);
  const body = await readOllama(deps, request, true);
  const compat = requestCompat(deps);
  const call = shape === "chat" ? parseOllamaChat(body, compat) : parseOllamaGenerate(body, compat);
  if (call.work.type === "load") return loadOrUnload(deps, call, shape, clientOf(request));
  const { id, status } = baseOf(deps, clientOf(request).caller, call.model);
  const startMs = performance.now();
  const work = call.work;
  const start = async (options?: StartOptions) => {
    const started = await startWork(deps, work, clientOf(request), options);
    keep(deps, clientOf(request), id, call.keepAlive); // now that it is held, it cannot leave before the answer
    return started;
  };
  const encoderOf = () =>
    ollamaStream(metaOf(call.model, status === "loaded" ? 0 : secsSince(startMs)), shape);
  if (call.stream && tellsProgress(work))
    return streamRun<AnswerEvent>(deps, { start, encoderOf, respond: ndjsonResponse });
  const started = await start();
  if (call.stream) return ndjsonResponse(framesOf(started, encoderOf(), deps.log), started.abort);
  const answer = new AnswerReducer();
  await foldRun(started, answer);
  const meta = metaOf(call.model, status === "loaded" ? 0 : secsSince(startMs));
  const folded = ollamaBody(answer, meta, shape);
  return Response.json(folded, { headers: fingerprintHeader([folded]) });
}

type Work = Exclude<OllamaCall["work"], { type: "load" }>;

function tellsProgress(work: Work): boolean {
  return (work.type === "converse" ? work.conversation.run : work.run).progress === true;
}

function startWork(deps: HttpDeps, work: Work, client: Client, options?: StartOptions) {
  if (work.type === "converse") return startRun(deps.converse, work.conversation, client, options);
  return startRun(deps.generate, work.run, client, options);
}

async function loadOrUnload(
  deps: HttpDeps,
  { model, keepAlive, stream }: OllamaCall,
  shape: OllamaShape,
  client: Client,
): Promise<Response> {
  const { id } = baseOf(deps, client.caller, model);
  const leaves = keepAlive === 0;
  if (leaves && isUser(client))
    throw new ServiceError(
      "permission_denied",
      "keep_alive 0 unloads a model for everybody; ask an administrator",
    );
  if (leaves) await deps.control.unload(id);
  else await load(deps, id, keepAlive, client);
  const body = JSON.stringify(loadedBody(metaOf(model, 0), shape, leaves ? "unload" : "load"));
  if (!stream) return new Response(body, { headers: { "content-type": "application/json" } });
  return new Response(`${body}\n`, { headers: { "content-type": "application/x-ndjson" } });
}

async function load(deps: HttpDeps, id: string, keepAlive: KeepAlive, client: Client): Promise<void> {
  await untilClientLeaves((signal, caller) => deps.control.ensureLoaded(id, signal, caller), client);
  keep(deps, client, id, keepAlive);
}

/** How long a model stays loaded concerns everybody, so what users say of it has no effect. */
function keep({ control }: HttpDeps, client: Client, id: string, keepAlive: KeepAlive): void {
  if (!isUser(client)) control.keep(id, keepAlive);
}

function isUser({ caller }: Client): boolean {
  return caller.account?.role === "user";
}

function secsSince(startMs: number): number {
  return (performance.now() - startMs) / 1000;
}

function metaOf(model: string, loadSecs: number): OllamaMeta {
  return { model, created: Math.floor(Date.now() / 1000), loadSecs };
}

interface Embedded {
  readonly result: EmbedResult;
  readonly totalSecs: number;
  readonly loadSecs: number;
}

async function embedded(deps: HttpDeps, call: OllamaEmbedCall, client: Client): Promise<Embedded> {
  const { request, keepAlive } = call;
  const { id } = baseOf(deps, client.caller, request.model);
  const startMs = performance.now();
  await untilClientLeaves((signal, caller) => deps.control.ensureLoaded(id, signal, caller), client);
  const loadSecs = secsSince(startMs);
  const none: EmbedResult = { vectors: [], promptTokens: 0 };
  const isEmpty = request.inputs.length === 0;
  const result = isEmpty
    ? none
    : await untilClientLeaves((signal, caller) => deps.embed(request, signal, caller), client);
  keep(deps, client, id, keepAlive);
  return { result, loadSecs, totalSecs: secsSince(startMs) };
}

async function embed(deps: HttpDeps, request: Request): Promise<Response> {
  refuseWhileDraining(deps);
  const call = parseOllamaEmbed(await readOllama(deps, request, false), requestCompat(deps));
  const { result, ...secs } = await embedded(deps, call, clientOf(request));
  return Response.json(embedBody(result, call, secs));
}

async function embedOne(deps: HttpDeps, request: Request): Promise<Response> {
  refuseWhileDraining(deps);
  const call = parseOllamaEmbeddings(await readOllama(deps, request, false), requestCompat(deps));
  const { result } = await embedded(deps, call, clientOf(request));
  return Response.json({ embedding: result.vectors[0] ?? [] });
}
