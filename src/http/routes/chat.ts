// POST /v1/chat/completions: body → run → body or stream. Each step is a function of another module.

import { defined } from "../../core/defined.ts";
import { Elysia } from "elysia";
import { type ChatCall, parseChatRequest } from "../../dialects/chat/request.ts";
import { chatAnswer, chatBody } from "../../dialects/chat/response.ts";
import {
  ChatCompletionChunkResponse,
  ChatCompletionRequest,
  ChatCompletionResponse,
  ChatInputTokens,
} from "../../dialects/chat/schema.ts";
import { CHAT_TERMS, withErrorTerms } from "../../dialects/shared/error-terms.ts";
import { chatStream } from "../../dialects/chat/stream.ts";
import { withChatPreset } from "../../dialects/shared/preset.ts";
import { acceptedMeta, answerMeta, fingerprintHeader } from "../answer.ts";
import { requestCompat } from "../compat.ts";
import type { HttpDeps } from "../deps.ts";
import { toErrorData } from "../errors.ts";
import { type HeldRun, type HeldRuns, STOPPED_FRAME } from "../held-runs.ts";
import { readGeneration } from "../model-body.ts";
import { callerOf } from "../observe.ts";
import type { ApiComponents } from "../openapi.ts";
import {
  type Accepted,
  clientOf,
  countPrompt,
  foldRun,
  framesOf,
  refuseWhileDraining,
  type StartOptions,
  startRun,
} from "../run.ts";
import { streamRun } from "../stream-run.ts";
import { withMcp } from "./ui-mcp.ts";
import { joinRun, RUN_HEADER } from "./ui-runs.ts";

/** Chat-completion routes. */
export function chatRoutes(deps: HttpDeps, components: ApiComponents, runs: HeldRuns) {
  return new Elysia()
    .post("/v1/chat/completions", ({ request }) => answerChat(deps, request, runs), {
      parse: "none", // body.ts reads it
      detail: {
        operationId: "create_chat_completion",
        description:
          "A request brings all messages, unless `session_id` names a stored conversation. The server runs the calls of its own tools (`enable_code_execution`, `enable_shell`, `web_search_options`) and continues until the answer is complete; calls of the client's tools are returned.",
        tags: ["Generation"],
        summary: "Continue a conversation",
        requestBody: components.body(ChatCompletionRequest),
        responses: components.generationAnswers(ChatCompletionResponse, ChatCompletionChunkResponse),
      },
    })
    .post("/v1/chat/completions/input_tokens", ({ request }) => countTokens(deps, request), {
      parse: "none",
      detail: {
        operationId: "count_chat_input_tokens",
        description: "Renders the prompt of the same body with the model's chat template; generates nothing.",
        tags: ["Counting"],
        summary: "Count the tokens of a chat completion's prompt",
        requestBody: components.body(ChatCompletionRequest),
        responses: components.answers("The number of tokens.", ChatInputTokens),
      },
    });
}

/** Counts the tokens of a request's prompt, for a svc that uses this one as upstream. */
async function countTokens(deps: HttpDeps, request: Request): Promise<Response> {
  refuseWhileDraining(deps);
  const { run, agent } = parseChatRequest(
    await readGeneration(deps, request, withChatPreset),
    requestCompat(deps),
  );
  const counted = { run: { ...run, countOnly: true }, agent };
  const started = await withErrorTerms(CHAT_TERMS, startRun(deps.converse, counted, clientOf(request)));
  const body: ChatInputTokens = {
    object: "chat.completion.input_tokens",
    input_tokens: await countPrompt(started),
  };
  return Response.json(body);
}

async function answerChat(deps: HttpDeps, request: Request, runs: HeldRuns): Promise<Response> {
  refuseWhileDraining(deps);
  const call = parseChatRequest(await readGeneration(deps, request, withChatPreset), requestCompat(deps));
  const { run, agent, stream, includeUsage } = call;
  const custom = defined({ customTools: call.customTools });
  const heldAs = request.headers.get(RUN_HEADER);
  if (deps.ui !== false && stream && heldAs !== null)
    return answerHeld(deps, request, withMcp(deps, request, call), runs.open(heldAs, callerOf(request)));
  const start = (options?: StartOptions) =>
    withErrorTerms(CHAT_TERMS, startRun(deps.converse, { run, agent }, clientOf(request), options));
  const meta = answerMeta(deps, run.model, "chatcmpl-");
  if (stream) {
    const options = { choices: run.choices, includeUsage, ...custom };
    const encoderOf = (accepted: Accepted) => chatStream(acceptedMeta(meta, accepted), options);
    return streamRun(deps, { start, encoderOf });
  }
  const started = await start();
  const answer = chatAnswer({ choices: run.choices, ...custom });
  await foldRun(started, answer);
  const body = chatBody(answer, acceptedMeta(meta, started.accepted), run.logprobs !== undefined);
  return Response.json(body, { headers: fingerprintHeader(body.choices) });
}

/** Streams an answer that goes on when its client leaves, for a grace period: the web interface can join it again. */
async function answerHeld(
  deps: HttpDeps,
  request: Request,
  { run, agent, includeUsage }: ChatCall,
  held: HeldRun,
): Promise<Response> {
  const { signal } = request;
  const reader = held.reader(); // from now on, for the grace period counts from the client's leaving
  signal.addEventListener("abort", () => void reader.close(), { once: true });
  const { choices } = run;
  const failed = (thrown: unknown): string =>
    chatStream(answerMeta(deps, run.model, "chatcmpl-"), { choices, includeUsage }).add({
      type: "error",
      error: toErrorData(thrown, deps.log),
    });
  try {
    const started = await withErrorTerms(
      CHAT_TERMS,
      startRun(deps.converse, { run, agent }, { caller: callerOf(request), signal: held.abort.signal }),
    );
    const meta = answerMeta(deps, run.model, "chatcmpl-", started.accepted);
    const encoder = chatStream(meta, { choices, includeUsage });
    void held.fill(framesOf(started, encoder, deps.log), failed);
  } catch (thrown) {
    held.fail(held.abort.signal.aborted ? STOPPED_FRAME : failed(thrown));
    await reader.close();
    throw thrown;
  }
  return joinRun(deps, request, reader);
}
