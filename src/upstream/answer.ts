// Converts chunks of a streamed completion to RunEvents. Knows nothing of connections; its caller handles early ends.

import { defined } from "../core/defined.ts";
import { newId } from "../core/id.ts";
import type { FinishReason, RunEvent, RunRequest, TokenChance, TokenLogprob, Usage } from "../core/run.ts";
import {
  readChatLogprobs,
  readTextLogprobs,
  type WireChance,
  type WireChoice,
  type WireChunk,
  type WireDelta,
  type WireTextLogprobs,
  type WireToolCall,
  type WireUsage,
} from "./wire.ts";

/** Token ids do not travel in this API. */
const NO_TOKEN = 0;

const REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ["length", "length"],
  ["max_tokens", "length"],
  ["tool_calls", "tool_calls"],
  ["function_call", "tool_calls"],
]);

interface Call {
  readonly id: string;
  /** Index in svc's events; undefined for a dropped call. */
  readonly index: number | undefined;
}

interface Choice {
  /** By the upstream's index. */
  readonly calls: Map<number, Call>;
  begun: number; // calls in our events
  hasEnded: boolean;
  pieces: number; // text events, for estimates
  reasoningPieces: number;
}

/** Progress of the prompt in a chunk; that of the model's load comes before the answer (attempt.ts). */
function progressEvents({ prompt_progress: at }: WireChunk, request: RunRequest): RunEvent[] {
  if (request.progress !== true || at === undefined || at === null) return [];
  const { total, cache: cached, processed, time_ms: ms } = at;
  return [{ type: "prompt_progress", total, cached, processed, ms }];
}

/** The answer to one request. */
export class Answer {
  private readonly request: RunRequest;
  private readonly choices: Choice[];
  private usage: WireUsage | undefined;

  constructor(request: RunRequest) {
    this.request = request;
    this.choices = Array.from({ length: request.choices }, () => ({
      calls: new Map(),
      begun: 0,
      hasEnded: false,
      pieces: 0,
      reasoningPieces: 0,
    }));
  }

  /** Whether all choices have ended. */
  get isComplete(): boolean {
    return this.choices.every(({ hasEnded }) => hasEnded);
  }

  /** Events of a chunk, in order. A chunk that names a choice that was not asked for has none. */
  take(chunk: WireChunk): readonly RunEvent[] {
    if (chunk.usage !== undefined && chunk.usage !== null) this.usage = chunk.usage;
    const events: RunEvent[] = progressEvents(chunk, this.request);
    for (const wire of chunk.choices ?? []) {
      const index = wire.index ?? 0;
      const choice = this.choices[index];
      if (choice === undefined || choice.hasEnded) continue;
      if (this.request.maxTokens !== 0 || this.request.echo === true) this.piece(choice, index, wire, events);
      const reason = wire.finish_reason ?? undefined;
      if (reason !== undefined) events.push(this.end(choice, index, wire, reason));
    }
    return events;
  }

  /** Usage of the run: the upstream's, else an estimate from the received pieces and the prompt. */
  counts(promptTokens: number): Usage {
    const { usage } = this;
    const sum = (of: (choice: Choice) => number): number =>
      this.choices.reduce((total, choice) => total + of(choice), 0);
    return {
      promptTokens: usage?.prompt_tokens ?? promptTokens,
      cachedTokens: usage?.prompt_tokens_details?.cached_tokens ?? 0,
      completionTokens: usage === undefined ? sum(({ pieces }) => pieces) : (usage.completion_tokens ?? 0),
      reasoningTokens:
        usage?.completion_tokens_details?.reasoning_tokens ?? sum(({ reasoningPieces }) => reasoningPieces),
    };
  }

  private piece(choice: Choice, index: number, wire: WireChoice, events: RunEvent[]): void {
    const text = wire.delta === undefined || wire.delta === null ? (wire.text ?? "") : textOf(wire.delta);
    const reasoning = wire.delta?.reasoning_content ?? wire.delta?.reasoning ?? "";
    if (reasoning !== "") {
      choice.pieces++;
      choice.reasoningPieces++;
      events.push({ type: "reasoning", choice: index, text: reasoning });
    }
    const logprobs = this.request.logprobs === undefined ? undefined : logprobsOf(wire);
    if (text !== "" || (logprobs !== undefined && logprobs.length > 0)) {
      choice.pieces++;
      events.push({ type: "text", choice: index, text, ...defined({ logprobs }) });
    }
    for (const [position, call] of (wire.delta?.tool_calls ?? []).entries()) {
      choice.pieces++;
      this.call(choice, index, { ...call, index: call.index ?? position }, events);
    }
  }

  /** Some servers number every call 0: a new id starts a new call. */
  private call(
    choice: Choice,
    index: number,
    wire: WireToolCall & { index: number },
    events: RunEvent[],
  ): void {
    const id = wire.id ?? undefined;
    const name = wire.function?.name ?? undefined;
    const args = wire.function?.arguments ?? "";
    let call = choice.calls.get(wire.index);
    const isNew = call === undefined || (id !== undefined && id !== "" && id !== call.id && Boolean(name));
    if (isNew) {
      const position = this.isLeftOut(choice) ? undefined : choice.begun++;
      call = { id: id === undefined || id === "" ? newId("call_") : id, index: position };
      choice.calls.set(wire.index, call);
      if (position !== undefined)
        events.push({
          type: "tool_call_start",
          choice: index,
          index: position,
          id: call.id,
          name: name ?? "",
        });
    }
    if (args === "" || call?.index === undefined) return;
    events.push({ type: "tool_call_args", choice: index, index: call.index, delta: args });
  }

  /** A request for a single call gets only the first one, even if the upstream sends more. */
  private isLeftOut({ begun }: Choice): boolean {
    const { prompt } = this.request;
    return begun > 0 && prompt.type === "chat" && prompt.singleCall === true;
  }

  private end(choice: Choice, index: number, wire: WireChoice, reason: string): RunEvent {
    choice.hasEnded = true;
    const stop = wire.stop_reason ?? wire.matched_stop;
    const ended = typeof stop === "string" && this.request.stop.includes(stop) ? { stop } : {};
    const meant = this.request.maxTokens === 0 ? "length" : (REASONS.get(reason) ?? "stop");
    // Some servers end an answer that is calls with "stop".
    const isCalls = meant === "stop" && choice.begun > 0;
    const fingerprint = wire.fingerprint ?? undefined;
    const end = { choice: index, reason: isCalls ? ("tool_calls" as const) : meant, ...ended };
    return { type: "choice_end", ...end, ...defined({ fingerprint }) };
  }
}

function textOf({ content, refusal }: WireDelta): string {
  return content ?? refusal ?? "";
}

function logprobsOf({ logprobs }: WireChoice): readonly TokenLogprob[] | undefined {
  if (logprobs === undefined || logprobs === null) return undefined;
  const chat = readChatLogprobs(logprobs)?.content;
  if (chat !== undefined && chat !== null)
    return chat.map((token) => ({ ...chance(token), top: (token.top_logprobs ?? []).map(chance) }));
  const text = readTextLogprobs(logprobs);
  return text === undefined ? undefined : textLogprobs(text);
}

function chance({ token, logprob, bytes }: WireChance): TokenChance {
  return { token: NO_TOKEN, text: token, bytes: bytes ?? [...new TextEncoder().encode(token)], logprob };
}

/** Completions name a token that is a part of a character by its bytes: `bytes:\x..`. */
function textChance(token: string, logprob: number): TokenChance {
  const escaped = /^bytes:((?:\\x[0-9a-f]{2})+)$/.exec(token)?.[1];
  if (escaped === undefined) return chance({ token, logprob });
  const bytes = escaped
    .slice(2)
    .split("\\x")
    .map((hex) => Number.parseInt(hex, 16));
  return { token: NO_TOKEN, text: new TextDecoder().decode(Uint8Array.from(bytes)), bytes, logprob };
}

function textLogprobs({
  tokens,
  token_logprobs: chances,
  top_logprobs: tops,
}: WireTextLogprobs): readonly TokenLogprob[] {
  return tokens.map((token, i) => ({
    ...textChance(token, chances[i] ?? 0),
    top: Object.entries(tops?.[i] ?? {}).map(([name, logprob]) => textChance(name, logprob)),
  }));
}
