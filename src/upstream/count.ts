// Tokens of a prompt, counted by the upstream where it has an endpoint for it.

import type { Caller } from "../core/caller.ts";
import type { RunRequest } from "../core/run.ts";
import { chatBody, messagesOf, toolsOf } from "./chat-body.ts";
import { CHAT_PATH } from "./exchange.ts";
import { readJson, send } from "./http.ts";
import { PROBE_MS } from "./limits.ts";
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

/** svc has a route for counts of chats. */
function ownCount(
  request: RunRequest,
  { options, facts }: UpstreamServer,
): { readonly path: string; readonly body: unknown } | undefined {
  const { prompt } = request;
  if (prompt.type !== "chat" || facts.engine !== "svc") return undefined;
  const body = { ...chatBody({ ...request, prompt }, options.model, facts), stream: false };
  return { path: `${CHAT_PATH}/input_tokens`, body };
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
        ...(prompt.tools.length === 0 ? {} : { tools: toolsOf(prompt.tools, facts.engine) }),
      }
    : {};
  if (facts.engine === "vllm")
    return { body: { model: options.model, ...(isChat ? chat : { prompt: text }) } };
  if (facts.engine !== "llama-server") return undefined;
  return isChat ? { body: undefined, template: chat } : { body: { content: text } };
}
