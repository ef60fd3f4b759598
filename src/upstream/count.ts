// Tokens of a prompt, counted by the upstream where it has an endpoint for it.

import { unreachable } from "../core/assert.ts";
import type { Caller } from "../core/caller.ts";
import type { RunRequest } from "../core/run.ts";
import { chatBody, messagesOf, toolOf } from "./chat-body.ts";
import { readJson, send } from "./http.ts";
import { PROBE_MS } from "./limits.ts";
import { promptFields } from "./messages-body.ts";
import { inputFields } from "./responses-body.ts";
import type { UpstreamServer } from "./server.ts";
import { readCounted, readTemplate, readTokenized } from "./wire.ts";

/** The upstream's own count; undefined where it has no endpoint for it or does not answer. */
export async function countedTokens(
  request: RunRequest,
  server: UpstreamServer,
  signal: AbortSignal,
  caller: Caller,
): Promise<number | undefined> {
  const within = AbortSignal.any([signal, AbortSignal.timeout(PROBE_MS)]);
  const post = async (path: string, body: unknown, root = true): Promise<unknown> => {
    const response = await send(server.options, { path, root, body, caller, signal: within });
    return response.ok ? readJson(response) : undefined;
  };
  try {
    const own = ownCount(request, server);
    if (own !== undefined) return readCounted(await post(own.path, own.body, false))?.input_tokens;
    const call = callOf(request, server);
    if (call === undefined) return undefined;
    let { body } = call;
    if (call.template !== undefined) {
      const text = readTemplate(await post("/apply-template", call.template))?.prompt;
      if (text === undefined) return undefined;
      body = { content: text, parse_special: true };
    }
    const counted = readTokenized(await post("/tokenize", body));
    return counted?.count ?? counted?.tokens?.length;
  } catch {
    return undefined; // the estimate serves
  }
}

/** The request for a count in the API that the server is asked through. Chat completions have it in svc alone. */
function ownCount(
  request: RunRequest,
  { options, facts }: UpstreamServer,
): { readonly path: string; readonly body: unknown } | undefined {
  const { prompt } = request;
  const { model, dialect } = options;
  if (prompt.type !== "chat") return undefined;
  switch (dialect) {
    case "messages":
      return { path: "/messages/count_tokens", body: { model, ...promptFields(prompt, facts) } };
    case "responses":
      return { path: "/responses/input_tokens", body: { model, ...inputFields(prompt, facts) } };
    case "chat": {
      if (facts.engine !== "svc") return undefined;
      const body = { ...chatBody({ ...request, prompt }, model, facts), stream: false };
      return { path: "/chat/completions/input_tokens", body };
    }
    default:
      return unreachable(dialect);
  }
}

interface CountCall {
  readonly body: unknown;
  /** llama-server renders first. */
  readonly template?: unknown;
}

function callOf({ prompt }: RunRequest, { options, facts }: UpstreamServer): CountCall | undefined {
  const isChat = prompt.type === "chat";
  const text = prompt.type === "text" ? prompt.text : undefined;
  if (!isChat && text === undefined) return undefined;
  const chat = isChat
    ? {
        messages: messagesOf(prompt, facts),
        ...(prompt.tools.length === 0 ? {} : { tools: prompt.tools.map(toolOf) }),
      }
    : {};
  if (facts.engine === "vllm")
    return { body: { model: options.model, ...(isChat ? chat : { prompt: text }) } };
  if (facts.engine !== "llama-server") return undefined;
  return isChat ? { body: undefined, template: chat } : { body: { content: text } };
}
