// A common interface to all generation dialects, so that one suite tests all of them. A new dialect is one row.

import type { Response, ResponseStreamEvent } from "openai/resources/responses/responses";
import { accumulateResponse } from "openai/lib/responses/ResponseAccumulator";
import type { AnswerEvent } from "../../src/core/agent.ts";
import { defined } from "../../src/core/defined.ts";
import { chatAnswer, chatBody } from "../../src/dialects/chat/response.ts";
import type { ChatCompletionChunkResponse, ChatCompletionResponse } from "../../src/dialects/chat/schema.ts";
import { chatStream } from "../../src/dialects/chat/stream.ts";
import { completionBody } from "../../src/dialects/completions/response.ts";
import type { CompletionChunkResponse, CompletionResponse } from "../../src/dialects/completions/schema.ts";
import { completionStream } from "../../src/dialects/completions/stream.ts";
import { infillAnswer, infillBody } from "../../src/dialects/infill/response.ts";
import type { InfillResponse } from "../../src/dialects/infill/schema.ts";
import { infillStream } from "../../src/dialects/infill/stream.ts";
import type { MessagesResponse } from "../../src/dialects/messages/answer.ts";
import { messagesBody } from "../../src/dialects/messages/response.ts";
import { messagesStream } from "../../src/dialects/messages/stream.ts";
import type { ResponseResource } from "../../src/dialects/responses/resource.ts";
import { ResponseFold } from "../../src/dialects/responses/response.ts";
import type {
  OllamaChatResponse,
  OllamaGenerateResponse,
  OllamaShape,
} from "../../src/dialects/ollama/answer.ts";
import { ollamaBody } from "../../src/dialects/ollama/response.ts";
import { ollamaStream } from "../../src/dialects/ollama/stream.ts";
import { ResponseStream } from "../../src/dialects/responses/stream.ts";
import { AnswerReducer } from "../../src/dialects/shared/answer-reducer.ts";
import type { FrameEncoder } from "../../src/dialects/shared/frame.ts";
import { foldChunks } from "./fold-chunks.ts";
import { foldCompletionChunks } from "./fold-completions.ts";
import { foldLines, parseLines } from "./fold-lines.ts";
import { foldMessages } from "./fold-messages.ts";
import { responseHead } from "./response-head.ts";
import type { Feature } from "./scripts.ts";
import { parseSse, type SseEvent } from "./sse.ts";

/** A run with the options of its request. */
export interface TestRun {
  readonly events: readonly AnswerEvent[];
  readonly choices?: number;
  readonly withLogprobs?: boolean;
}

/** Content of a body, independent of the dialect. */
export interface Answer {
  readonly text: string;
  /** Undefined if the dialect has no reasoning, or the answer has none. */
  readonly reasoning?: string | undefined;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly args: string }[];
  readonly isTruncated: boolean;
  /** `cached` is undefined if the dialect does not report it. */
  readonly tokens: {
    readonly prompt: number;
    readonly cached?: number | undefined;
    readonly completion: number;
  };
}

/** Result of `failure` for a dialect whose errors have no code. */
export const NO_CODE = "text";

export interface Dialect {
  readonly name: string;
  /** Framing of streams: server-sent events, or JSON lines. */
  readonly framing: "sse" | "ndjson";
  readonly has: readonly Feature[];
  /** Whether reasoning is separate from text. */
  readonly showsReasoning: boolean;
  /** The whole stream of a run. */
  stream(run: TestRun): string;
  /** The body of a run; throws for a failed run. */
  body(run: TestRun): unknown;
  /** The body that a client folds from the stream of a run. */
  folded(stream: string, run: TestRun): unknown;
  answerOf(body: unknown): Answer;
  /** Whether a frame ends the stream. */
  isEnd(frame: SseEvent): boolean;
  /** Error code of a failed stream; NO_CODE if errors have none. */
  failure(frames: readonly SseEvent[]): string | undefined;
}

/** The frames of a dialect's stream. */
export function framesOf({ framing }: Dialect, stream: string): readonly SseEvent[] {
  return framing === "sse" ? parseSse(stream).events : parseLines(stream);
}

const META = { id: "chatcmpl-1", created: 1_700_000_000, model: 'a "model"', fingerprint: "svc-test" };

/** The frames of events. */
export function framed(encoder: FrameEncoder<AnswerEvent>, events: readonly AnswerEvent[]): string {
  let frames = "";
  for (const event of events) frames += encoder.add(event);
  return frames;
}

/** What has reduced the events of a run. */
export function fed<F extends { add(event: AnswerEvent): unknown }>(
  fold: F,
  events: readonly AnswerEvent[],
): F {
  for (const event of events) fold.add(event);
  return fold;
}

const isDone = ({ data }: SseEvent) => data === "[DONE]";

/** Payloads of the unnamed events of a stream, without its end. */
function chunksOf(stream: string): readonly unknown[] {
  const unnamed = parseSse(stream).events.filter((frame) => frame.event === "message" && !isDone(frame));
  return unnamed.map(({ data }) => JSON.parse(data));
}

function inBandError(all: readonly SseEvent[]): string | undefined {
  const errors = all.filter((frame) => !isDone(frame)).map(({ data }) => JSON.parse(data).error?.code);
  return errors.find((code) => code !== undefined);
}

const chat: Dialect = {
  name: "chat",
  framing: "sse",
  has: ["tools", "agent", "choices", "edits"],
  showsReasoning: true,
  stream: ({ events, choices = 1 }) => framed(chatStream(META, { choices, includeUsage: false }), events),
  body: ({ events, choices = 1, withLogprobs = false }) =>
    chatBody(fed(chatAnswer({ choices }), events), META, withLogprobs),
  folded(stream, { withLogprobs = false, events }) {
    const chunks = chunksOf(stream) as readonly ChatCompletionChunkResponse[];
    const files = parseSse(stream).events.flatMap(({ event, data }) =>
      event === "file_produced" ? [JSON.parse(data)] : [],
    );
    const session = chunks.find(({ session_id: id }) => id !== undefined)?.session_id;
    return {
      ...foldChunks(chunks, withLogprobs),
      ...defined({
        session_id: session,
        context_management: chunks.findLast((chunk) => chunk.context_management)?.context_management,
      }),
      // Streams report calls by events; only bodies have the list.
      ...agenticCalls(events),
      ...(files.length === 0 ? {} : { files }),
    };
  },
  answerOf(body) {
    const { choices, usage } = body as ChatCompletionResponse;
    const { content, reasoning_content: reasoning, tool_calls: calls } = choices[0]?.message ?? {};
    return {
      text: content ?? "",
      reasoning,
      calls: (calls ?? []).map((call) => ({
        id: call.id,
        name: call.type === "custom" ? call.custom.name : call.function.name,
        args: call.type === "custom" ? call.custom.input : call.function.arguments,
      })),
      isTruncated: choices[0]?.finish_reason === "length",
      tokens: {
        prompt: usage.prompt_tokens,
        cached: usage.prompt_tokens_details.cached_tokens,
        completion: usage.completion_tokens,
      },
    };
  },
  isEnd: isDone,
  failure: inBandError,
};

function agenticCalls(events: readonly AnswerEvent[]): object {
  const calls = events.flatMap((event) => {
    if (event.type !== "tool_complete") return [];
    const { round, toolName: name, arguments: args, resultContent, images, fileIds } = event;
    return [
      {
        round,
        name,
        arguments: args,
        result_content: resultContent,
        ...(images.length === 0 ? {} : { result_images_base64: images }),
        ...(fileIds.length === 0 ? {} : { file_ids: fileIds }),
      },
    ];
  });
  return calls.length === 0 ? {} : { agentic_tool_calls: calls };
}

const layoutOf = ({ choices = 1, withLogprobs = false }: TestRun) => ({
  n: choices,
  withLogprobs,
  echo: false,
});

const completions: Dialect = {
  name: "completions",
  framing: "sse",
  has: ["choices"],
  showsReasoning: false,
  stream(run) {
    const options = { layout: layoutOf(run), choices: run.choices ?? 1, includeUsage: false };
    return framed(completionStream(META, options), run.events);
  },
  body: (run) =>
    completionBody(
      [fed(new AnswerReducer(defined({ choices: run.choices })), run.events)],
      META,
      layoutOf(run),
    ),
  folded(stream, { choices = 1, withLogprobs = false }) {
    return foldCompletionChunks(
      chunksOf(stream) as readonly CompletionChunkResponse[],
      choices,
      withLogprobs,
    );
  },
  answerOf(body) {
    const { choices, usage } = body as CompletionResponse;
    return {
      text: choices[0]?.text ?? "",
      calls: [],
      isTruncated: choices[0]?.finish_reason === "length",
      tokens: {
        prompt: usage.prompt_tokens,
        cached: usage.prompt_tokens_details.cached_tokens,
        completion: usage.completion_tokens,
      },
    };
  },
  isEnd: isDone,
  failure: inBandError,
};

const TERMINAL = new Set(["response.completed", "response.incomplete", "response.failed"]);

const responses: Dialect = {
  name: "responses",
  framing: "sse",
  has: ["tools", "agent", "choices", "edits"],
  showsReasoning: true,
  stream: ({ events, choices = 1 }) => framed(new ResponseStream({ ...responseHead(), choices }), events),
  body: ({ events, choices = 1 }) => fed(new ResponseFold({ ...responseHead(), choices }), events).body(),
  /** The official client's fold of the deltas, inside the resource that ends the stream. */
  folded(stream) {
    const named = parseSse(stream).events.filter(({ event }) => event.startsWith("response."));
    const events: ResponseStreamEvent[] = named.map(({ data }) => JSON.parse(data));
    let snapshot: Response | undefined;
    for (const event of events.slice(0, -1)) snapshot = accumulateResponse(event, snapshot);
    const last = events.at(-1);
    if (last === undefined || !("response" in last)) throw new Error("the stream has no end");
    return { ...last.response, output: snapshot?.output };
  },
  answerOf(body) {
    const { output, status, usage } = body as ResponseResource;
    const texts = (type: "message" | "reasoning") =>
      output.flatMap((item) => (item.type === type ? item.content.map(({ text }) => text) : [])).join("");
    const reasoning = texts("reasoning");
    return {
      text: texts("message"),
      reasoning: reasoning === "" ? undefined : reasoning,
      calls: output.flatMap((item) =>
        item.type === "function_call" ? [{ id: item.call_id, name: item.name, args: item.arguments }] : [],
      ),
      isTruncated: status === "incomplete",
      tokens: {
        prompt: usage?.input_tokens ?? 0,
        cached: usage?.input_tokens_details.cached_tokens ?? 0,
        completion: usage?.output_tokens ?? 0,
      },
    };
  },
  isEnd: ({ event }) => TERMINAL.has(event),
  failure: inBandError,
};

const VIEW = { countsCached: true, omitsThinking: false };

const messages: Dialect = {
  name: "messages",
  framing: "sse",
  has: ["tools", "agent", "edits"],
  showsReasoning: true,
  stream: ({ events }) => framed(messagesStream(META, VIEW), events),
  body: ({ events }) => messagesBody(fed(new AnswerReducer(), events), META, VIEW),
  folded: foldMessages,
  answerOf(body) {
    const { content, stop_reason, usage } = body as MessagesResponse;
    const thinking = content.flatMap((block) => (block.type === "thinking" ? [block.thinking] : []));
    return {
      text: content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join(""),
      reasoning: thinking.length === 0 ? undefined : thinking.join(""),
      calls: content.flatMap((block) =>
        block.type === "tool_use"
          ? [{ id: block.id, name: block.name, args: JSON.stringify(block.input) }]
          : [],
      ),
      isTruncated: stop_reason === "max_tokens",
      tokens: {
        prompt: usage.input_tokens + usage.cache_read_input_tokens,
        cached: usage.cache_read_input_tokens,
        completion: usage.output_tokens,
      },
    };
  },
  isEnd: ({ event }) => event === "message_stop" || event === "error",
  failure: inBandError,
};

const infill: Dialect = {
  name: "infill",
  framing: "sse",
  has: [],
  showsReasoning: false,
  stream: ({ events }) => framed(infillStream(META.model, { indent: 0 }), events),
  body: ({ events }) => infillBody(fed(infillAnswer({ indent: 0 }), events), META.model, { indent: 0 }),
  folded(stream) {
    const chunks = chunksOf(stream) as readonly InfillResponse[];
    return { ...chunks.at(-1), content: chunks.map(({ content }) => content).join("") };
  },
  answerOf(body) {
    const { content, stop_type, tokens_evaluated, tokens_predicted, timings } = body as InfillResponse;
    return {
      text: content,
      calls: [],
      isTruncated: stop_type === "limit",
      tokens: { prompt: tokens_evaluated, cached: timings.cache_n, completion: tokens_predicted },
    };
  },
  isEnd: ({ data }) => JSON.parse(data).stop !== false,
  failure: inBandError,
};

const OLLAMA_META = { model: META.model, created: META.created, loadSecs: 0.5 };

function ollama(shape: OllamaShape): Dialect {
  return {
    name: `ollama-${shape}`,
    framing: "ndjson",
    has: shape === "chat" ? ["tools", "edits"] : [],
    showsReasoning: true,
    stream: ({ events }) => framed(ollamaStream(OLLAMA_META, shape), events),
    body: ({ events }) => ollamaBody(fed(new AnswerReducer(), events), OLLAMA_META, shape),
    folded: foldLines,
    answerOf(body) {
      const { message, response, thinking, done_reason, prompt_eval_count, eval_count } = body as Partial<
        OllamaChatResponse & OllamaGenerateResponse
      >;
      return {
        text: message?.content ?? response ?? "",
        reasoning: message?.thinking ?? thinking,
        calls: (message?.tool_calls ?? []).map(({ id, function: { name, arguments: args } }) => ({
          id,
          name,
          args: JSON.stringify(args),
        })),
        isTruncated: done_reason === "length",
        tokens: { prompt: prompt_eval_count ?? 0, completion: eval_count ?? 0 },
      };
    },
    isEnd: ({ data }) => JSON.parse(data).done !== false,
    failure: (all) => (all.some(({ data }) => "error" in JSON.parse(data)) ? NO_CODE : undefined),
  };
}

export const DIALECTS: readonly Dialect[] = [
  chat,
  completions,
  responses,
  messages,
  infill,
  ollama("chat"),
  ollama("generate"),
];

/** Whether a dialect has all features of a run. */
export function supports({ has }: Dialect, needs: readonly Feature[]): boolean {
  return needs.every((need) => has.includes(need));
}
