// The agent loop around a scripted model: what each pass says, fake tools, and sessions that note what they are told.

import type {
  AgentRequest,
  AnswerEvent,
  Conversation,
  Converse,
  InputMessage,
  TargetedConversation,
} from "../../src/core/agent.ts";
import { type ForCaller, SERVER } from "../../src/core/caller.ts";
import type { Converters } from "../../src/core/converters.ts";
import type { Files } from "../../src/core/files.ts";
import { type Message, messageText } from "../../src/core/message.ts";
import type { Generate, RunEvent, RunRequest } from "../../src/core/run.ts";
import type { OpenSession, Sessions } from "../../src/core/sessions.ts";
import { type MediaRules, NO_MEDIA } from "../../src/core/media.ts";
import { DEFAULT_SAMPLING } from "../../src/core/sampling.ts";
import type { ModelTarget } from "../../src/core/target.ts";
import { Approvals } from "../../src/agent/approvals.ts";
import { agentConverse, type ConverseDeps } from "../../src/agent/converse.ts";
import type { CallContext, ServerTool, ToolOutcome } from "../../src/agent/tool.ts";
import { fileStore } from "../../src/files/store.ts";
import { memoryState } from "../../src/state/memory.ts";
import { ownedState } from "../../src/state/owned.ts";
import { ACCEPTED, end, FINISH, text } from "./run-events.ts";

/** A call as a script has it. */
type Made = readonly [name: string, args: unknown];

/** Calls that a pass makes, each with its arguments in two pieces. */
export function calls(...made: readonly Made[]): readonly RunEvent[] {
  return made.flatMap(([name, args], index): readonly RunEvent[] => {
    const json = typeof args === "string" ? args : JSON.stringify(args);
    return [
      { type: "tool_call_start", choice: 0, index, id: `call_${name}_${index}`, name },
      { type: "tool_call_args", choice: 0, index, delta: json.slice(0, 2) },
      { type: "tool_call_args", choice: 0, index, delta: json.slice(2) },
    ];
  });
}

/** A whole pass that ends in calls. */
export function calling(...made: readonly Made[]): readonly RunEvent[] {
  return [ACCEPTED, ...calls(...made), end("tool_calls"), FINISH];
}

/** A whole pass that says something. */
export function saying(...pieces: readonly string[]): readonly RunEvent[] {
  return [ACCEPTED, ...pieces.map((piece) => text(piece)), end(), FINISH];
}

/** A generate function that plays one list of events a pass, and notes what it was asked. */
export function scripted(...passes: readonly (readonly RunEvent[])[]): {
  readonly generate: Generate;
  readonly requests: RunRequest[];
} {
  const requests: RunRequest[] = [];
  async function* generate(request: RunRequest): AsyncGenerator<RunEvent> {
    const events = passes[requests.length];
    requests.push(request);
    if (events === undefined) throw new Error("the script has no further pass");
    yield* events;
  }
  return { generate, requests };
}

/** The messages that a pass was asked with. */
export function messagesOf(request: RunRequest | undefined): readonly Message[] {
  if (request?.prompt.type !== "chat") throw new Error("there was no such pass");
  return request.prompt.messages;
}

/** The text of the last message that a pass was asked with. */
export function lastText(request: RunRequest | undefined): string {
  const last = messagesOf(request).at(-1);
  return last === undefined ? "" : messageText(last);
}

interface FakeToolOptions {
  readonly name?: string;
  readonly run?: (
    args: unknown,
    context: CallContext,
    signal: AbortSignal,
  ) => Promise<ToolOutcome> | ToolOutcome;
  readonly fault?: (args: unknown) => string | undefined;
  readonly makesFiles?: true;
}

/** A tool that notes its calls and answers with `done`, or as it is told. */
export function fakeTool(options: FakeToolOptions = {}): ServerTool & { readonly made: unknown[] } {
  const name = options.name ?? "svc_fake";
  const made: unknown[] = [];
  return {
    made,
    spec: { name, parameters: { type: "object", properties: {} }, strict: true },
    action: { source: "built_in", kind: "custom", label: "Fake", reach: { files: "none", network: "none" } },
    ...(options.makesFiles === undefined ? {} : { makesFiles: true }),
    calling: (args) => ({ tool_type: "custom", arguments: JSON.stringify(args) }),
    fault: options.fault ?? (() => undefined),
    run: async (args, context, signal) => {
      made.push(args);
      const outcome = options.run?.(args, context, signal);
      return (await outcome) ?? { text: "done", data: { tool_type: "custom", content: "done" } };
    },
  };
}

/** Sessions that only note. */
export class NotedSessions implements Pick<Sessions, "open" | "keyOf"> {
  readonly opened: (string | undefined)[] = [];
  readonly saved: { readonly id: string; readonly turn: readonly Message[] }[] = [];
  readonly trusted = new Set<string>();

  keyOf(sessionId: string): string {
    return sessionId;
  }

  open(sessionId: string | undefined, messages: readonly InputMessage[]): OpenSession {
    this.opened.push(sessionId);
    const id = sessionId ?? `session-${this.opened.length}`;
    return {
      id,
      key: id,
      messages,
      isNamed: sessionId !== undefined,
      isTrusted: (kind) => this.trusted.has(`${id} ${kind}`),
      trust: (kind) => void this.trusted.add(`${id} ${kind}`),
      save: (_talk, turn) => void this.saved.push({ id, turn: [...turn] }),
    };
  }
}

export interface TestLoop {
  readonly sessions: NotedSessions;
  readonly approvals: Approvals;
  readonly files: ForCaller<Files>;
  readonly logged: string[];
  readonly converse: Converse;
  /** All events of a conversation. */
  answer(conversation: Conversation, signal?: AbortSignal): Promise<readonly AnswerEvent[]>;
}

export interface TestLoopOptions extends Partial<ConverseDeps>, TargetOptions {
  readonly tools?: readonly ServerTool[];
}

export interface TargetOptions {
  readonly generate: Generate;
  /** By model id, as its `loadFacts` resolves. */
  readonly contextTokens?: (model: string, signal: AbortSignal) => Promise<number>;
  readonly media?: (model: string, signal: AbortSignal) => Promise<MediaRules>;
}

/** Answers conversations with a target that is not loaded yet. */
export function withTestTarget(converse: Converse<TargetedConversation>, options: TargetOptions): Converse {
  return (conversation, signal, caller) =>
    converse({ ...conversation, target: testTarget(conversation.run.model, options) }, signal, caller);
}

/** A model that is not loaded yet. */
export function testTarget(
  id: string,
  { generate, contextTokens = async () => 131_072, media = async () => NO_MEDIA }: TargetOptions,
): ModelTarget {
  return {
    id,
    generate,
    facts: () => undefined,
    loadFacts: async (signal) => ({
      contextTokens: await contextTokens(id, signal),
      media: await media(id, signal),
    }),
  };
}

/** Conversions of requests that need none. */
export const CONVERTS_NOTHING: Converters = {
  image: () => Promise.reject(new Error("nothing is converted here")),
  document: async () => undefined,
  pages: async () => undefined,
  sound: () => Promise.reject(new Error("nothing is converted here")),
};

/** A loop with tools that are always there. */
export function testLoop({ tools = [], ...options }: TestLoopOptions): TestLoop {
  const sessions = new NotedSessions();
  const approvals = new Approvals();
  const files = fileStore(ownedState(memoryState()));
  const logged: string[] = [];
  const loop = agentConverse({
    toolsets: [() => ({ tools })],
    permission: "auto",
    approvals,
    sessions: () => sessions,
    files,
    fetchFile: () => Promise.reject(new Error("nothing is fetched here")),
    readVideo: () => Promise.reject(new Error("nothing is decoded here")),
    converters: CONVERTS_NOTHING,
    log: (line) => void logged.push(line),
    ...options,
  });
  const converse = withTestTarget(loop, options);
  const answer = async (conversation: Conversation, signal = new AbortController().signal) =>
    Array.fromAsync(converse(conversation, signal, SERVER));
  return { sessions, approvals, files, logged, converse, answer };
}

interface AskedRun extends Partial<Omit<Conversation["run"], "prompt">> {
  readonly prompt?: Partial<Conversation["run"]["prompt"]>;
}

/** A conversation that asks one thing. */
export function asking(agent: Partial<AgentRequest> = {}, run: AskedRun = {}): Conversation {
  const { prompt, ...rest } = run;
  return {
    agent: { python: false, files: [], interactive: true, ...agent },
    run: {
      model: "tiny",
      sampling: DEFAULT_SAMPLING,
      stop: [],
      choices: 1,
      truncate: false,
      ...rest,
      prompt: {
        type: "chat",
        messages: [{ role: "user", content: [{ type: "text", text: "Do it" }] }],
        tools: [],
        toolChoice: { type: "auto" },
        thinking: { enabled: true },
        ...prompt,
      },
    },
  };
}
