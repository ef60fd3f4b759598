// Tokens of a prompt, estimated from its bytes. Pure.

import { messageText } from "../core/message.ts";
import { defined } from "../core/defined.ts";
import { refuseTokens } from "../core/quota.ts";
import { answerCap, type EmbedRequest, type Prompt, type RankRequest, type RunRequest } from "../core/run.ts";
import { BYTES_PER_TOKEN, TOKENS_PER_MESSAGE } from "./limits.ts";

const encoder = new TextEncoder();

/** A rough count, rather too many: UTF-8 bytes by BYTES_PER_TOKEN. */
export function estimatedTokens(prompt: Prompt): number {
  switch (prompt.type) {
    case "tokens":
      return prompt.tokens.length;
    case "text":
      return tokensIn(prompt.text + (prompt.suffix ?? ""));
    case "gap":
      return tokensIn(prompt.before + prompt.after);
    case "chat": {
      const messages = prompt.messages.map(
        (message) =>
          messageText(message) + (message.toolCalls ?? []).map((call) => call.name + call.arguments).join(""),
      );
      const tools = prompt.tools.length === 0 ? "" : JSON.stringify(prompt.tools);
      return tokensIn(messages.join("") + tools) + messages.length * TOKENS_PER_MESSAGE;
    }
  }
}

/** The request with a bound of its answers alone, which other servers know. */
export function withinBound({ tokensMax, ...request }: RunRequest): RunRequest {
  if (tokensMax === undefined) return request;
  const bound = { ...request, tokensMax };
  return { ...request, ...defined({ maxTokens: answerCap(bound, estimatedTokens(request.prompt)) }) };
}

function tokensIn(text: string): number {
  return Math.ceil(encoder.encode(text).byteLength / BYTES_PER_TOKEN);
}

/** Throws `rate_limit_exceeded` for texts that probably have more tokens than they may. */
export function refuseBeyond(request: EmbedRequest | RankRequest): void {
  if (request.tokensMax === undefined) return;
  const texts =
    "documents" in request ? request.documents.map((document) => request.query + document) : request.inputs;
  const counts = texts.map((text) => (typeof text === "string" ? tokensIn(text) : text.length));
  refuseTokens(
    counts.reduce((sum, count) => sum + count, 0),
    request.tokensMax,
  );
}
