// The official client's Responses interface.

import type OpenAI from "openai";
import { defined } from "../../../src/core/defined.ts";
import { type Asking, type ChatClient, type Said, WEATHER } from "./client.ts";
import { openAi } from "./openai.ts";

const { name, description, parameters } = WEATHER;
const TOOLS: OpenAI.Responses.FunctionTool[] = [
  { type: "function", name, description, parameters, strict: false },
];

function said({ output, output_text, incomplete_details, usage }: OpenAI.Responses.Response): Said {
  const calls = output.filter((item) => item.type === "function_call");
  const ended = incomplete_details?.reason === "max_output_tokens" ? "length" : "stop";
  return {
    text: output_text,
    calls: calls.map(({ name, arguments: args }) => ({ name, args: JSON.parse(args) })),
    reason: calls.length > 0 ? "tool_calls" : ended,
    inputTokens: usage?.input_tokens,
    outputTokens: usage?.output_tokens,
  };
}

/** The interface behind the common face. */
export function responsesClient(baseUrl: string): ChatClient {
  const client = openAi(baseUrl);
  const ask = (
    stream: boolean,
    extra: Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, "stream">,
  ): Promise<OpenAI.Responses.Response> => {
    const body = { model: "default", temperature: 0, ...extra };
    return stream ? client.responses.stream(body).finalResponse() : client.responses.create(body);
  };
  return {
    ask: async (input: string, { stream, tools, maxTokens }: Asking) =>
      said(
        await ask(stream, {
          input,
          ...(tools === undefined ? {} : { tools: TOOLS, tool_choice: tools }),
          ...defined({ max_output_tokens: maxTokens }),
        }),
      ),
    roundTrip: async (input, stream) => {
      const { id, output } = await ask(stream, { input, tools: TOOLS });
      const call = output.find((item) => item.type === "function_call");
      const told = WEATHER.run(JSON.parse(call?.arguments ?? "{}"));
      return said(
        await ask(stream, {
          previous_response_id: id,
          tools: TOOLS,
          input: [{ type: "function_call_output", call_id: call?.call_id ?? "", output: told }],
        }),
      );
    },
    structured: async (input, schema, stream) => {
      const text = { format: { type: "json_schema" as const, name: "answer", schema, strict: true } };
      return JSON.parse((await ask(stream, { input, text })).output_text);
    },
  };
}
