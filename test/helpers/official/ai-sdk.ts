// The AI SDK with its providers for compatible servers, the messages dialect and Responses.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import {
  embedMany,
  generateText,
  jsonSchema,
  type LanguageModel,
  Output,
  stepCountIs,
  streamText,
  tool,
} from "ai";
import { defined } from "../../../src/core/defined.ts";
import { type Asking, type ChatClient, type OfficialClient, type Said, WEATHER } from "./client.ts";

globalThis.AI_SDK_LOG_WARNINGS = false; // a completion model has no tool choice, says the SDK

/** The provider itself, for what it alone can do. */
export function aiSdk(baseURL: string): ReturnType<typeof createOpenAICompatible> {
  return createOpenAICompatible({
    name: "svc",
    baseURL,
    supportsStructuredOutputs: true,
    includeUsage: true,
  });
}

const TOOLS = {
  [WEATHER.name]: tool({
    description: WEATHER.description,
    inputSchema: jsonSchema<{ city: string }>({ ...WEATHER.parameters, required: ["city"] }),
    execute: async (args) => WEATHER.run(args),
  }),
};

/** The last step; both kinds of results have it, that of a stream once it has been read. */
async function said(
  result: Awaited<ReturnType<typeof generateText>> | ReturnType<typeof streamText>,
): Promise<Said> {
  const last = (await result.steps).at(-1);
  if (last === undefined) throw new Error("nothing was answered");
  const { text, toolCalls, finishReason, usage } = last;
  return {
    text,
    calls: toolCalls.map(({ toolName, input }) => ({ name: toolName, args: input })),
    reason: finishReason.replace("-", "_"),
    inputTokens: usage.inputTokens,
    outputTokens: usage.outputTokens,
  };
}

/** With the provider of the messages dialect. */
export function aiSdkMessagesClient(baseURL: string): ChatClient {
  const model = createAnthropic({ baseURL, apiKey: "any" })("default");
  return faceOf(model, { anthropic: { structuredOutputMode: "outputFormat" } });
}

/** With the provider that speaks Responses. */
export function aiSdkResponsesClient(baseURL: string): ChatClient {
  return faceOf(createOpenAI({ baseURL, apiKey: "any" }).responses("default"));
}

/** The AI SDK behind the common face. */
export function aiSdkClient(baseUrl: string): OfficialClient {
  const provider = aiSdk(baseUrl);
  return {
    ...faceOf(provider("default")),
    complete: async (prompt, maxOutputTokens, stream) => {
      const model = provider.completionModel("default");
      const request = { model, temperature: 0, maxRetries: 0, prompt, maxOutputTokens };
      return stream ? await streamText(request).text : (await generateText(request)).text;
    },
    embed: async (values) => {
      const model = provider.embeddingModel("default");
      return (await embedMany({ model, values: [...values], maxRetries: 0 })).embeddings;
    },
  };
}

function faceOf(
  model: LanguageModel,
  providerOptions: NonNullable<Parameters<typeof generateText>[0]["providerOptions"]> = {},
): ChatClient {
  const common = { model, temperature: 0, maxRetries: 0, providerOptions };
  return {
    ask: async (prompt: string, { stream, tools, maxTokens }: Asking) => {
      const request = {
        ...common,
        prompt,
        ...(tools === undefined ? {} : { tools: TOOLS, toolChoice: tools }),
        ...defined({ maxOutputTokens: maxTokens }),
      };
      return said(stream ? streamText(request) : await generateText(request));
    },
    roundTrip: async (prompt, stream) => {
      const request = { ...common, prompt, tools: TOOLS, stopWhen: stepCountIs(2) };
      return said(stream ? streamText(request) : await generateText(request));
    },
    structured: async (prompt, schema, stream) => {
      const request = { ...common, prompt, output: Output.object({ schema: jsonSchema(schema) }) };
      return stream ? await streamText(request).output : (await generateText(request)).output;
    },
  };
}
