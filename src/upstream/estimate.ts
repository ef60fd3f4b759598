// Tokens of a prompt, estimated from its bytes. Pure.

import { messageText } from "../core/message.ts";
import type { Prompt } from "../core/run.ts";
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

function tokensIn(text: string): number {
  return Math.ceil(encoder.encode(text).byteLength / BYTES_PER_TOKEN);
}
