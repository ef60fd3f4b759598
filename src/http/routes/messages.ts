// POST /v1/messages and POST /v1/messages/count_tokens: body → run → body, stream or count. Each step is a function
// of another module. Headers that clients of this dialect send (versions, betas, keys) are not read.

import { Elysia } from "elysia";
import { defined } from "../../core/defined.ts";
import {
  CountTokensResponse,
  MessagesResponse,
  MessagesStreamEvent,
} from "../../dialects/messages/answer.ts";
import { parseCountRequest, parseMessagesRequest } from "../../dialects/messages/request.ts";
import { messagesBody } from "../../dialects/messages/response.ts";
import { MessagesRequest } from "../../dialects/messages/schema.ts";
import { AnswerReducer } from "../../dialects/shared/answer-reducer.ts";
import { withErrorTerms, MESSAGES_TERMS } from "../../dialects/shared/error-terms.ts";
import { messagesStream, PING_FRAME } from "../../dialects/messages/stream.ts";
import { withMessagesPreset } from "../../dialects/shared/preset.ts";
import { acceptedMeta, answerMeta, fingerprintHeader } from "../answer.ts";
import { requestCompat } from "../compat.ts";
import type { HttpDeps } from "../deps.ts";
import { readGeneration } from "../model-body.ts";
import type { ApiComponents } from "../openapi.ts";
import {
  type Accepted,
  clientOf,
  countPrompt,
  foldRun,
  refuseWhileDraining,
  type StartOptions,
  startRun,
} from "../run.ts";
import { streamRun } from "../stream-run.ts";

/** Routes of the messages dialect. */
export function messagesRoutes(deps: HttpDeps, components: ApiComponents) {
  return new Elysia()
    .post("/v1/messages", ({ request }) => answerMessages(deps, request), {
      parse: "none", // body.ts reads it
      detail: {
        operationId: "create_message",
        description: "The messages dialect of Anthropic's clients, with thinking, tools and documents.",
        tags: ["Generation"],
        summary: "Create a message",
        requestBody: components.body(MessagesRequest),
        responses: components.generationAnswers(MessagesResponse, MessagesStreamEvent),
      },
    })
    .post("/v1/messages/count_tokens", ({ request }) => countTokens(deps, request), {
      parse: "none",
      detail: {
        operationId: "count_message_tokens",
        description: "Takes the body of a message; generates nothing.",
        tags: ["Generation"],
        summary: "Count the tokens of a messages request",
        requestBody: components.body(MessagesRequest),
        responses: components.answers("The number of tokens.", CountTokensResponse),
      },
    });
}

async function answerMessages(deps: HttpDeps, request: Request): Promise<Response> {
  refuseWhileDraining(deps);
  const { run, agent, stream, view } = parseMessagesRequest(
    await readGeneration(deps, request, withMessagesPreset),
    requestCompat(deps),
  );
  const start = (options?: StartOptions) =>
    withErrorTerms(MESSAGES_TERMS, startRun(deps.converse, { run, agent }, clientOf(request), options));
  const meta = answerMeta(deps, run.model, "msg_");
  const metaOf = ({ answeredBy }: Accepted) => acceptedMeta(meta, defined({ answeredBy }));
  if (stream) {
    const encoderOf = (accepted: Accepted) => messagesStream(metaOf(accepted), view);
    return streamRun(deps, { start, encoderOf, idleFrame: PING_FRAME });
  }
  const started = await start();
  const answer = new AnswerReducer();
  await foldRun(started, answer);
  const body = messagesBody(answer, metaOf(started.accepted), view);
  return Response.json(body, { headers: fingerprintHeader([body]) });
}

async function countTokens(deps: HttpDeps, request: Request): Promise<Response> {
  refuseWhileDraining(deps);
  const conversation = parseCountRequest(
    await readGeneration(deps, request, withMessagesPreset),
    requestCompat(deps),
  );
  const started = await withErrorTerms(
    MESSAGES_TERMS,
    startRun(deps.converse, conversation, clientOf(request)),
  );
  const body: CountTokensResponse = { input_tokens: await countPrompt(started) };
  return Response.json(body);
}
