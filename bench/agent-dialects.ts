// Synthetic traffic of a coding agent, equal for every dialect and run: a long system prompt, tools, and turns that each add a
// call with its result.

import { uniformSource } from "./random.ts";

/** Cap on the tokens of each answer: only TTFT is measured. */
const MAX_TOKENS = 8;

/** Distance of the tools of two turns in a declared list: those of neighbours are alike. */
const STRIDE = 13;

/** A tool call and its result. */
interface Turn {
  readonly said: string;
  readonly callId: string;
  readonly tool: string;
  readonly args: string;
  readonly result: string;
}

export interface Traffic {
  readonly system: string;
  readonly task: string;
  readonly tools: readonly {
    readonly name: string;
    readonly description: string;
    readonly parameters: object;
  }[];
  readonly turns: readonly Turn[];
}

/** An event of a stream: any JSON object. */
export type Event = Readonly<Record<string, unknown>>;

export interface Dialect {
  readonly name: string;
  readonly path: string;
  /** The request after `turns` turns; `previous` is the id of the previous answer. */
  readonly body: (traffic: Traffic, turns: number, previous: string | undefined) => object;
  /** Whether an event is the first piece of an answer. */
  readonly isPiece: (event: Event) => boolean;
  /** Keys of prompt tokens and cached tokens, at any depth. */
  readonly usage: readonly [string, string];
}

const flat = (traffic: Traffic) => traffic.tools.map((tool) => ({ type: "function", ...tool }));
const call = ({ callId, tool: name, args }: Turn) => ({ callId, name, args });

export const DIALECTS: readonly Dialect[] = [
  {
    name: "chat completions",
    path: "/v1/chat/completions",
    body: (traffic, turns) => ({
      messages: [
        { role: "system", content: traffic.system },
        { role: "user", content: traffic.task },
        ...traffic.turns.slice(0, turns).flatMap((turn) => {
          const { callId: id, name, args } = call(turn);
          const calls = [{ id, type: "function", function: { name, arguments: args } }];
          return [
            { role: "assistant", content: turn.said, tool_calls: calls },
            { role: "tool", tool_call_id: id, content: turn.result },
          ];
        }),
      ],
      tools: traffic.tools.map((tool) => ({ type: "function", function: tool })),
      max_tokens: MAX_TOKENS,
      enable_thinking: false,
      stream_options: { include_usage: true },
    }),
    isPiece: (event) => JSON.stringify(event).includes('"delta":{"content":"') && !hasRole(event),
    usage: ["prompt_tokens", "cached_tokens"],
  },
  {
    name: "Responses, all items",
    path: "/v1/responses",
    body: (traffic, turns) => ({
      ...responsesBasics(traffic),
      store: false,
      input: [
        { role: "user", content: traffic.task },
        ...traffic.turns.slice(0, turns).flatMap((turn) => {
          const { callId: call_id, name, args } = call(turn);
          return [
            { role: "assistant", content: turn.said },
            { type: "function_call", call_id, name, arguments: args },
            { type: "function_call_output", call_id, output: turn.result },
          ];
        }),
      ],
    }),
    isPiece: ({ type }) => String(type).endsWith(".delta"),
    usage: ["input_tokens", "cached_tokens"],
  },
  {
    name: "Responses, chained",
    path: "/v1/responses",
    body: (traffic, turns, previous) => ({
      ...responsesBasics(traffic),
      ...(previous === undefined ? {} : { previous_response_id: previous }),
      input: turns === 0 ? traffic.task : `The tool says: ${traffic.turns[turns - 1]?.result}`,
    }),
    isPiece: ({ type }) => String(type).endsWith(".delta"),
    usage: ["input_tokens", "cached_tokens"],
  },
  {
    name: "messages",
    path: "/v1/messages",
    body: (traffic, turns) => ({
      // Without `cache_control` this dialect does not report cached tokens.
      system: [{ type: "text", text: traffic.system, cache_control: { type: "ephemeral" } }],
      messages: [
        { role: "user", content: traffic.task },
        ...traffic.turns.slice(0, turns).flatMap((turn) => {
          const { callId: id, name, args } = call(turn);
          const use = { type: "tool_use", id, name, input: JSON.parse(args) };
          const result = { type: "tool_result", tool_use_id: id, content: turn.result };
          return [
            { role: "assistant", content: [{ type: "text", text: turn.said }, use] },
            { role: "user", content: [result] },
          ];
        }),
      ],
      tools: traffic.tools.map(({ parameters, ...tool }) => ({ ...tool, input_schema: parameters })),
      max_tokens: MAX_TOKENS,
      thinking: { type: "disabled" },
    }),
    isPiece: ({ type }) => type === "content_block_delta",
    usage: ["input_tokens", "cache_read_input_tokens"],
  },
  {
    name: "completions",
    path: "/v1/completions",
    body: (traffic, turns) => ({
      prompt: [
        traffic.system,
        JSON.stringify(flat(traffic)),
        traffic.task,
        ...traffic.turns.slice(0, turns).map(({ said, args, result }) => `${said}\n${args}\n${result}`),
      ].join("\n\n"),
      max_tokens: MAX_TOKENS,
    }),
    isPiece: (event) => "choices" in event,
    usage: ["prompt_tokens", "cached_tokens"],
  },
];

function responsesBasics(traffic: Traffic): object {
  const { system: instructions } = traffic;
  return { instructions, tools: flat(traffic), max_output_tokens: MAX_TOKENS, reasoning: { effort: "none" } };
}

function hasRole(event: Event): boolean {
  return JSON.stringify(event).includes('"delta":{"role"');
}

/** Generates the traffic, with the `declared` tools, else with `tools` of its own. */
export function makeTraffic(turns: number, tools: number, declared: Traffic["tools"] = []): Traffic {
  const random = uniformSource(7);
  const words = "open file test build error value return import index number token string list map set".split(
    " ",
  );
  const text = (count: number) =>
    Array.from({ length: count }, () => words[Math.floor(random() * words.length)]).join(" ");
  const parameter = () => ({ type: "string", description: text(6) });
  return {
    system: text(1500),
    task: text(40),
    tools:
      declared.length > 0
        ? declared
        : Array.from({ length: tools }, (_, index) => ({
            name: `tool_${index}`,
            description: text(30),
            parameters: {
              type: "object",
              properties: { path: parameter(), pattern: parameter(), mode: parameter() },
              required: ["path"],
            },
          })),
    turns: Array.from({ length: turns }, (_, index) => ({
      said: text(15),
      callId: `call_${index}`,
      tool: declared[(index * STRIDE) % declared.length]?.name ?? "tool_0",
      args: JSON.stringify({ path: text(3), pattern: text(2) }),
      result: text(120),
    })),
  };
}
