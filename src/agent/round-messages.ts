// The prompt of a round of an answer, and the message of a pass that has ended.

import { defined } from "../core/defined.ts";
import type { Message } from "../core/message.ts";
import type { ChatPrompt } from "../core/run.ts";
import type { ModelCall, PassResult } from "./pass.ts";

/** The prompt of a round; only the first has the answer prefix. */
export function promptOf(prompt: ChatPrompt, round: number): ChatPrompt {
  if (round === 1 || prompt.answerPrefix === undefined) return prompt;
  const { type, messages, tools, toolChoice, singleCall, thinking } = prompt;
  const single = defined({ singleCall });
  return { type, messages, tools, toolChoice, ...single, thinking };
}

/** The model's message of a pass, with calls. */
export function assistantMessage(
  { text, reasoning }: Pick<PassResult, "text" | "reasoning">,
  calls: readonly ModelCall[],
): Message {
  return {
    role: "assistant",
    content: text === "" ? [] : [{ type: "text", text }],
    ...(reasoning === "" ? {} : { reasoning }),
    ...(calls.length === 0
      ? {}
      : { toolCalls: calls.map(({ id, name, arguments: args }) => ({ id, name, arguments: args })) }),
  };
}
