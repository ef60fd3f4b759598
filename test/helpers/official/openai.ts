// The official client.

import OpenAI from "openai";
import { defined } from "../../../src/core/defined.ts";
import { type Asking, type OfficialClient, type Said, WEATHER } from "./client.ts";

type Messages = OpenAI.ChatCompletionMessageParam[];

/** The client itself, for what it alone can do. */
export function openAi(baseURL: string): OpenAI {
  return new OpenAI({ apiKey: "any", baseURL, maxRetries: 0 });
}

const { name, description, parameters } = WEATHER;
const TOOLS: OpenAI.ChatCompletionFunctionTool[] = [
  { type: "function", function: { name, description, parameters } },
];

function said({ choices, usage }: OpenAI.ChatCompletion): Said {
  const [choice] = choices;
  const calls = (choice?.message.tool_calls ?? []).filter((call) => call.type === "function");
  return {
    text: choice?.message.content ?? "",
    calls: calls.map(({ function: { name, arguments: args } }) => ({ name, args: JSON.parse(args) })),
    reason: choice?.finish_reason ?? "",
    inputTokens: usage?.prompt_tokens,
    outputTokens: usage?.completion_tokens,
  };
}

/** The official client behind the common face. */
export function openAiClient(baseUrl: string): OfficialClient {
  const client = openAi(baseUrl);
  const chat = (
    messages: Messages,
    stream: boolean,
    extra: Partial<OpenAI.ChatCompletionCreateParamsNonStreaming>,
  ): Promise<OpenAI.ChatCompletion> => {
    const body = { model: "default", messages, temperature: 0, ...extra };
    if (!stream) return client.chat.completions.create(body);
    const streamed = { ...body, stream: true as const, stream_options: { include_usage: true } };
    return client.chat.completions.stream(streamed).finalChatCompletion();
  };
  const user = (content: string): Messages => [{ role: "user", content }];
  return {
    ask: async (prompt: string, { stream, tools, maxTokens }: Asking) =>
      said(
        await chat(user(prompt), stream, {
          ...(tools === undefined ? {} : { tools: TOOLS, tool_choice: tools }),
          ...defined({ max_completion_tokens: maxTokens }),
        }),
      ),
    roundTrip: async (prompt, stream) => {
      const { choices } = await chat(user(prompt), stream, { tools: TOOLS });
      const message = choices[0]?.message;
      const call = message?.tool_calls?.find(({ type }) => type === "function");
      if (message === undefined || call?.type !== "function") throw new Error("no tool was called");
      const content = WEATHER.run(JSON.parse(call.function.arguments));
      const told = { role: "tool" as const, tool_call_id: call.id, content };
      return said(await chat([...user(prompt), message, told], stream, { tools: TOOLS }));
    },
    structured: async (prompt, schema, stream) => {
      const json_schema = { name: "answer", schema, strict: true };
      const answer = await chat(user(prompt), stream, {
        response_format: { type: "json_schema", json_schema },
      });
      return JSON.parse(said(answer).text);
    },
    complete: async (prompt, max_tokens, stream) => {
      const body = { model: "default", prompt, max_tokens, temperature: 0 };
      if (!stream) return (await client.completions.create(body)).choices[0]?.text ?? "";
      const chunks = await Array.fromAsync(await client.completions.create({ ...body, stream: true }));
      return chunks.flatMap(({ choices }) => choices.map(({ text }) => text)).join("");
    },
    embed: async (texts) => {
      const { data } = await client.embeddings.create({ model: "default", input: [...texts] });
      return data.map(({ embedding }) => embedding);
    },
  };
}
