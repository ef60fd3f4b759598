// Compaction: the oldest turns of a long conversation become a summary that the model writes. Instructions, the last turns and the last
// message of the user stay verbatim; a call is never parted from its result, because the conversation is cut before a message that is no
// result. Summaries are kept by the turns that they stand for, so that the same conversation has the same beginning in later requests,
// which the prefix cache needs.

import { createHash } from "node:crypto";
import type { ContextEdits } from "../core/agent.ts";
import { isInstruction, SUMMARY_HEADER, withSummary } from "../core/applied-edit.ts";
import type { Caller } from "../core/caller.ts";
import { defined } from "../core/defined.ts";
import { type Message, messageText } from "../core/message.ts";
import type { RunRequest } from "../core/run.ts";
import { shorten } from "../core/shorten.ts";
import type { ModelTarget } from "../core/target.ts";
import type { Begun, Found, Summaries, Summary, Write } from "./ahead.ts";
import { addCosts, type Cost, NO_COST } from "./cost.ts";
import {
  COMPACT_CONTEXT_SHARE,
  COMPACT_LEAST_SHARE,
  COMPACT_TAIL_SHARE,
  SUMMARY_AHEAD_SHARE,
  SUMMARY_CHUNK_SHARE,
  SUMMARY_RESULT_CHARS,
  SUMMARY_TOKENS_MAX,
} from "./limits.ts";

type ChatRequest = RunRequest<Extract<RunRequest["prompt"], { type: "chat" }>>;

/** What compacts a conversation. */
export interface CompactTask {
  readonly request: ChatRequest;
  readonly target: ModelTarget;
  /** Writes summaries; absent: the model that answers. */
  readonly writer?: ModelTarget;
  readonly caller: Caller;
  /** Context of the model; undefined if unknown. */
  readonly contextTokens: number | undefined;
  readonly compact: NonNullable<ContextEdits["compact"]>;
}

export interface Compacted {
  readonly messages: readonly Message[];
  readonly summary: string;
  /** Messages that the summary stands for. */
  readonly replaced: number;
  /** Tokens of the summaries that were written for this request. */
  readonly cost: Cost;
}

const WRITER =
  "You write summaries of conversations between a user and an assistant. The summary replaces the conversation: the assistant goes on from it alone. Keep every name, number, path, decision, requirement, result and open task. Write facts, one a line, without comments.";
const RATIO_MIN = 2; // characters of a token, for texts that were not counted

/** Tokens of a prompt above which it is compacted; undefined where that cannot be known. */
function compactTrigger({ compact, contextTokens }: CompactTask): number | undefined {
  const { tokens, share } = compact;
  const most = contextTokens === undefined ? undefined : contextTokens * COMPACT_CONTEXT_SHARE;
  const asked =
    tokens ?? (share === undefined || contextTokens === undefined ? undefined : share * contextTokens);
  if (asked === undefined) return most;
  return most === undefined ? asked : Math.min(asked, most);
}

/** Tokens of a prompt with these messages. */
export async function promptTokens(
  task: CompactTask,
  messages: readonly Message[],
  signal: AbortSignal,
): Promise<number> {
  const { request, target, caller } = task;
  const counted = { ...request, prompt: { ...request.prompt, messages }, countOnly: true };
  for await (const event of target.generate(counted, signal, caller)) {
    if (event.type === "accepted") return event.promptTokens;
    if (event.type === "error") break;
  }
  return Math.ceil(charsOf(messages) / RATIO_MIN);
}

/** What becomes of a conversation. */
export interface Compaction {
  /** Absent where it is short enough, or has no old turns. */
  readonly made?: Compacted;
  /** Begins a summary for the next turn, where this one comes near the bound. */
  readonly ahead?: () => Begun | undefined;
}

/** The conversation with a summary of its oldest turns. */
export async function compacted(
  task: CompactTask,
  messages: readonly Message[],
  summaries: Summaries,
  signal: AbortSignal,
): Promise<Compaction> {
  const trigger = compactTrigger(task);
  if (trigger === undefined || charsOf(messages) / RATIO_MIN < trigger / 2) return {};
  const start = messages.findIndex((message) => !isInstruction(message));
  if (start < 0) return {};
  const [head, talk] = [messages.slice(0, start), messages.slice(start)];
  const keys = keysOf(task, talk, trigger);
  const made = ({ count, text: summary, cost }: Found): Compacted => {
    return { messages: [...head, ...withSummary(talk, count, summary)], summary, replaced: count, cost };
  };
  const tokensOf = (found: Found | undefined): Promise<number> =>
    promptTokens(task, found === undefined ? messages : made(found).messages, signal);
  let found = summaries.latest(keys);
  let tokens = await tokensOf(found);
  if (tokens > trigger) {
    const early = await summaries.claim(keys, found?.count ?? 0, signal);
    found = early ?? found;
    if (early !== undefined) tokens = await tokensOf(found);
  }
  const kept = found === undefined ? messages : made(found).messages;
  const ratio = Math.max(1, charsOf(kept) / Math.max(1, tokens));
  const count = cutOf(talk, trigger * COMPACT_TAIL_SHARE * ratio);
  const { text: before, count: known = 0 } = found ?? {};
  const old = { before, old: talk.slice(known, count), trigger, ratio };
  const result = found === undefined ? {} : { made: made(found) };
  if (count <= known) return result;
  if (tokens <= trigger) {
    const isNear = task.compact.share !== undefined && tokens > trigger * SUMMARY_AHEAD_SHARE;
    if (!isNear) return result;
    const write: Write = (yields, own) =>
      summarized({ ...task, caller: aside(task.caller, yields) }, old, own);
    return { ...result, ahead: () => summaries.begin(keys, count, write) };
  }
  const isLittle = charsOf(old.old) < trigger * COMPACT_LEAST_SHARE * ratio;
  if (isLittle && tokens <= (task.contextTokens ?? 0) * COMPACT_CONTEXT_SHARE) return result;
  const written = await summarized(task, old, signal);
  if (written === undefined) return result;
  summaries.use(keys[count] ?? "", written.text);
  return { made: made({ ...written, count, cost: addCosts(found?.cost ?? NO_COST, written.cost) }) };
}

/** Caller of work ahead: no request waits for it or has a place for it. */
function aside({ client, owner, account }: Caller, yields: () => void): Caller {
  return { client, yields, ...defined({ owner, account }) };
}

function charsOf(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + sizeOf(message), 0);
}

function sizeOf(message: Message): number {
  const { toolCalls = [], reasoning = "" } = message;
  const calls = toolCalls.reduce((sum, { name, arguments: args }) => sum + name.length + args.length, 0);
  return messageText(message).length + reasoning.length + calls;
}

/**
 * Keys of the beginnings of a conversation, by their number of messages. Callers do not learn of each other's conversations, and a lower
 * bound does not take turns from a request with a higher one.
 */
function keysOf(
  { target, writer = target, compact, caller }: CompactTask,
  talk: readonly Message[],
  trigger: number,
): readonly string[] {
  const hash = createHash("sha256").update(
    JSON.stringify([caller.owner ?? "", writer.id, compact.instructions ?? "", trigger]),
  );
  const keys = [hash.copy().digest("hex")];
  for (const message of talk) {
    hash.update(JSON.stringify(message));
    keys.push(hash.copy().digest("hex"));
  }
  return keys;
}

/** Messages of the oldest turns: as many as leave `charsMax` characters, but never the last message. */
function cutOf(talk: readonly Message[], charsMax: number): number {
  let chars = 0;
  let cut = 0;
  for (let at = talk.length - 1; at > 0; at--) {
    const message = talk[at];
    if (message === undefined) break;
    chars += sizeOf(message);
    if (chars > charsMax && cut > 0) break;
    if (message.role === "user" || (message.role === "assistant" && keepsRoom(talk, at, charsMax))) cut = at;
  }
  return cut;
}

/** Whether turns from an answer on leave room for what it answers, which stays verbatim before them. A later question does instead. */
function keepsRoom(talk: readonly Message[], at: number, charsMax: number): boolean {
  const isUsers = ({ role }: Message): boolean => role === "user";
  const asked = talk.slice(0, at).findLast(isUsers);
  return asked === undefined || sizeOf(asked) <= charsMax / 2 || !talk.slice(at).some(isUsers);
}

interface Old {
  readonly before: string | undefined;
  readonly old: readonly Message[];
  readonly trigger: number;
  /** Characters of a token. */
  readonly ratio: number;
}

/** A summary of old turns, and of the summary before them. Undefined if the model wrote none. */
async function summarized(
  task: CompactTask,
  { before = "", old, trigger, ratio }: Old,
  signal: AbortSignal,
): Promise<Summary | undefined> {
  const { contextTokens } = await (task.writer ?? task.target).loadFacts(signal, task.caller);
  const tokensMax = Math.max(
    64,
    Math.min(SUMMARY_TOKENS_MAX, Math.floor(Math.min(trigger, contextTokens) / 4)),
  );
  const charsMax = Math.max(1000, contextTokens * SUMMARY_CHUNK_SHARE * ratio - before.length);
  let text = before;
  let cost = NO_COST;
  for (const chunk of chunksOf(old.map(transcribed), charsMax)) {
    const written = await passage(task, { text, chunk, tokensMax }, signal);
    if (written === undefined) return undefined;
    text = written.text;
    cost = addCosts(cost, written.cost);
  }
  return text.trim() === "" ? undefined : { text: text.trim(), cost };
}

interface Part {
  readonly text: string;
  readonly chunk: string;
  readonly tokensMax: number;
}

async function passage(
  { request, target, writer = target, caller, compact }: CompactTask,
  { text: before, chunk, tokensMax }: Part,
  signal: AbortSignal,
): Promise<Summary | undefined> {
  const earlier = before === "" ? "" : `${SUMMARY_HEADER}\n${before}\n\n`;
  const asked = compact.instructions ?? "Write the summary of all of this.";
  const run: ChatRequest = {
    model: writer.id,
    sampling: request.sampling,
    stop: [],
    choices: 1,
    maxTokens: tokensMax,
    truncate: true,
    prompt: {
      type: "chat",
      messages: [
        said("system", WRITER),
        said("user", `${earlier}The conversation goes on:\n\n${chunk}\n\n${asked}`),
      ],
      tools: [],
      toolChoice: { type: "none" },
      thinking: { enabled: false },
    },
  };
  // Other servers cannot cut a prompt that is too long for them, and refuse to.
  for (const truncate of [true, false]) {
    let text = "";
    let isRefused = false;
    for await (const event of writer.generate({ ...run, truncate }, signal, caller)) {
      if (event.type === "text") text += event.text;
      isRefused = event.type === "error" && event.error.code === "unsupported_capability";
      if (event.type === "error") break;
      if (event.type === "finish") return { text, cost: { usage: event.usage, timings: event.timings } };
    }
    if (!isRefused) return undefined;
  }
  return undefined;
}

function said(role: "system" | "user", text: string): Message {
  return { role, content: [{ type: "text", text }] };
}

/** A message as a reader sees it. */
function transcribed(message: Message): string {
  const calls = (message.toolCalls ?? []).map(({ name, arguments: args }) => `calls ${name} ${args}`);
  const text =
    message.role === "tool" ? shorten(messageText(message), SUMMARY_RESULT_CHARS) : messageText(message);
  return [`${message.role}: ${text}`, ...calls].join("\n");
}

/** Texts joined into as few pieces as the bound allows; one that is longer is split. */
function chunksOf(texts: readonly string[], charsMax: number): readonly string[] {
  const chunks: string[] = [];
  for (const text of texts.flatMap((whole) => piecesOf(whole, charsMax))) {
    const last = chunks.at(-1);
    if (last !== undefined && last.length + text.length + 2 <= charsMax)
      chunks[chunks.length - 1] = `${last}\n\n${text}`;
    else chunks.push(text);
  }
  return chunks;
}

function piecesOf(text: string, charsMax: number): readonly string[] {
  const size = Math.floor(charsMax);
  const pieces: string[] = [];
  for (let at = 0; at < text.length; at += size) pieces.push(text.slice(at, at + size));
  return pieces;
}
