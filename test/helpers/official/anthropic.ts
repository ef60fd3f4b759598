// The official client of the messages dialect.

import Anthropic from "@anthropic-ai/sdk";
import { type Asking, type ChatClient, type Said, WEATHER } from "./client.ts";

/** The client itself, for what it alone can do. `baseUrl` ends in /v1, which the client adds. */
function anthropic(baseUrl: string): Anthropic {
  return new Anthropic({ apiKey: "any", baseURL: baseUrl.replace(/\/v1$/, ""), maxRetries: 0 });
}

const { name, description, parameters } = WEATHER;
const TOOLS: Anthropic.Tool[] = [
  { name, description, input_schema: { ...parameters, required: [...parameters.required] } },
];
const REASONS: Readonly<Record<string, string>> = {
  end_turn: "stop",
  max_tokens: "length",
  tool_use: "tool_calls",
};

function said({ content, stop_reason, usage }: Anthropic.Message): Said {
  return {
    text: content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join(""),
    calls: content.flatMap((block) =>
      block.type === "tool_use" ? [{ name: block.name, args: block.input }] : [],
    ),
    reason: REASONS[stop_reason ?? ""] ?? "",
    inputTokens: usage.input_tokens,
    outputTokens: usage.output_tokens,
  };
}

/** The client behind the common face. */
export function anthropicClient(baseUrl: string): ChatClient {
  const client = anthropic(baseUrl);
  const ask = (
    messages: Anthropic.MessageParam[],
    stream: boolean,
    extra: Partial<Anthropic.MessageCreateParamsNonStreaming>,
  ): Promise<Anthropic.Message> => {
    // The client's types leave sampling out, the interface does not.
    const body = { model: "default", max_tokens: 512, temperature: 0, messages, ...extra };
    return stream ? client.messages.stream(body).finalMessage() : client.messages.create(body);
  };
  return {
    ask: async (content: string, { stream, tools, maxTokens }: Asking) => {
      const type = tools === "required" ? "any" : "auto";
      const offered = tools === undefined ? {} : { tools: TOOLS, tool_choice: { type } as const };
      const cap = maxTokens === undefined ? {} : { max_tokens: maxTokens };
      return said(await ask([{ role: "user", content }], stream, { ...offered, ...cap }));
    },
    roundTrip: async (prompt, stream) => {
      const asked = await ask([{ role: "user", content: prompt }], stream, { tools: TOOLS });
      const call = asked.content.find((block) => block.type === "tool_use");
      const content = WEATHER.run(call?.input as Parameters<typeof WEATHER.run>[0]);
      const told = { type: "tool_result" as const, tool_use_id: call?.id ?? "", content };
      const messages: Anthropic.MessageParam[] = [
        { role: "user", content: prompt },
        { role: "assistant", content: asked.content },
        { role: "user", content: [told] },
      ];
      return said(await ask(messages, stream, { tools: TOOLS }));
    },
    structured: async (content, schema, stream) => {
      const output_config = { format: { type: "json_schema" as const, schema } };
      return JSON.parse(said(await ask([{ role: "user", content }], stream, { output_config })).text);
    },
  };
}
