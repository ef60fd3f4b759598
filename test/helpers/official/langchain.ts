// LangChain's classes over the official client.

import { type BaseMessage, HumanMessage, ToolMessage, type UsageMetadata } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI, OpenAI, OpenAIEmbeddings } from "@langchain/openai";
import { z } from "zod";
import { defined } from "../../../src/core/defined.ts";
import { type Asking, type OfficialClient, type Said, WEATHER } from "./client.ts";

/** What all of its classes are made with. */
export function langChainFields(baseURL: string) {
  return { model: "default", apiKey: "any", temperature: 0, maxRetries: 0, configuration: { baseURL } };
}

type Answer = Awaited<ReturnType<ChatOpenAI["invoke"]>>;

const weather = tool(async (args) => WEATHER.run(args), {
  name: WEATHER.name,
  description: WEATHER.description,
  schema: z.object({ city: z.string() }),
});

/** Of an answer, what is looked at; in the class's own type, tokens come out as `never`. */
type Held = Pick<Answer, "content" | "tool_calls" | "response_metadata"> & {
  readonly usage_metadata?: UsageMetadata | undefined;
};

function said({ content, tool_calls, response_metadata, usage_metadata }: Held): Said {
  return {
    text: typeof content === "string" ? content : "",
    calls: (tool_calls ?? []).map(({ name, args }) => ({ name, args })),
    reason: String(response_metadata["finish_reason"]),
    inputTokens: usage_metadata?.input_tokens,
    outputTokens: usage_metadata?.output_tokens,
  };
}

/** LangChain behind the common face. */
export function langChainClient(baseUrl: string): OfficialClient {
  const fields = langChainFields(baseUrl);
  const answer = async (
    chat: Pick<ChatOpenAI, "invoke" | "stream">,
    messages: BaseMessage[],
    stream: boolean,
  ): Promise<Answer> => {
    if (!stream) return chat.invoke(messages);
    const [first, ...rest] = await Array.fromAsync(await chat.stream(messages));
    if (first === undefined) throw new Error("the stream is empty");
    return rest.reduce((sum, chunk) => sum.concat(chunk), first);
  };
  return {
    ask: async (prompt: string, { stream, tools, maxTokens }: Asking) => {
      const chat = new ChatOpenAI({ ...fields, ...defined({ maxTokens }) });
      const bound = tools === undefined ? chat : chat.bindTools([weather], { tool_choice: tools });
      return said(await answer(bound, [new HumanMessage(prompt)], stream));
    },
    roundTrip: async (prompt, stream) => {
      const chat = new ChatOpenAI(fields).bindTools([weather]);
      const question = new HumanMessage(prompt);
      const asked = await answer(chat, [question], stream);
      const [call] = asked.tool_calls ?? [];
      if (call === undefined) throw new Error("no tool was called");
      const city = String(call.args["city"]);
      const told = new ToolMessage({
        content: await weather.invoke({ city }),
        tool_call_id: call.id ?? "",
      });
      return said(await answer(chat, [question, asked, told], stream));
    },
    structured: async (prompt, schema, stream) => {
      const typed = new ChatOpenAI(fields).withStructuredOutput(schema, {
        method: "jsonSchema",
        name: "answer",
      });
      return stream ? (await Array.fromAsync(await typed.stream(prompt))).at(-1) : await typed.invoke(prompt);
    },
    complete: async (prompt, maxTokens, stream) => {
      const llm = new OpenAI({ ...fields, maxTokens });
      return stream ? (await Array.fromAsync(await llm.stream(prompt))).join("") : await llm.invoke(prompt);
    },
    embed: (texts) => new OpenAIEmbeddings(fields).embedDocuments([...texts]),
  };
}
