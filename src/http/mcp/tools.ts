// The tools that this server offers to MCP clients.

import { ServiceError } from "../../core/error.ts";
import { parseChatRequest } from "../../dialects/chat/request.ts";
import { chatAnswer, chatBody } from "../../dialects/chat/response.ts";
import type { ChatCompletionResponseMessage } from "../../dialects/chat/schema.ts";
import { withChatPreset } from "../../dialects/shared/preset.ts";
import { answerMeta } from "../answer.ts";
import { requestCompat } from "../compat.ts";
import type { HttpDeps } from "../deps.ts";
import { generationBody } from "../model-body.ts";
import { type Client, foldRun, refuseWhileDraining, startRun } from "../run.ts";

type Arguments = Readonly<Record<string, unknown>>;

export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  /** The schema for clients; the tool validates its arguments itself. */
  readonly inputSchema: Arguments;
  /** The text of the answer; `isError` with the reason if it is missing. Throws ServiceError. */
  run(deps: HttpDeps, args: Arguments, client: Client): Promise<ToolAnswer>;
}

interface ToolAnswer {
  readonly text: string;
  readonly isError: boolean;
}

const ENDED_IN_REASONING =
  "The answer has no text: its tokens ended within the reasoning. Raise max_tokens, or set enable_thinking to false.";

/** Spec: MCP, inbound server. It takes more than it tells: any body of chat completions that is not streamed. */
const CHAT: OfferedTool = {
  name: "chat",
  description: "Sends a conversation to the language model of this server and returns its answer as text.",
  inputSchema: {
    type: "object",
    properties: {
      messages: {
        type: "array",
        description: "The conversation so far, oldest message first.",
        items: {
          type: "object",
          properties: {
            role: { type: "string", enum: ["user", "assistant", "system"] },
            content: { type: "string" },
          },
          required: ["role", "content"],
        },
      },
      max_tokens: { type: "integer", description: "Maximum length of the answer, tokens." },
      temperature: {
        type: "number",
        minimum: 0,
        maximum: 2,
        description: "0 always samples the most likely token.",
      },
    },
    required: ["messages"],
  },
  run: chat,
};

/** In the order in which clients see them. */
export const OFFERED_TOOLS: readonly OfferedTool[] = [CHAT];

/** No client reads events here, so an action that needs an approval is denied. */
async function chat(deps: HttpDeps, args: Arguments, client: Client): Promise<ToolAnswer> {
  refuseWhileDraining(deps);
  const { run, agent, stream } = parseChatRequest(
    generationBody({ deps, caller: client.caller }, args, withChatPreset),
    requestCompat(deps),
  );
  if (stream) {
    const message = "stream must be false or absent: MCP tools do not stream";
    throw new ServiceError("unsupported_value", message, { param: "stream" });
  }
  const started = await startRun(deps.converse, { run, agent }, client);
  const answer = chatAnswer(run);
  await foldRun(started, answer);
  const { choices } = chatBody(answer, answerMeta(deps, run.model, "chatcmpl-"), false);
  const text = choices.map(({ message }) => textOf(message)).join("\n");
  const isCut = text.trim() === "" && choices.some(({ finish_reason: reason }) => reason === "length");
  return isCut ? { text: ENDED_IN_REASONING, isError: true } : { text, isError: false };
}

/** Calls of the caller's own functions stand for themselves: there is no other place for them. */
function textOf({ content, tool_calls: calls }: ChatCompletionResponseMessage): string {
  return content ?? JSON.stringify({ tool_calls: calls });
}
