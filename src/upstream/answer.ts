// Converts chunks of a streamed completion to RunEvents. Knows nothing of connections; its caller handles early ends.

import { defined } from "../core/defined.ts";
import { editsIn } from "../core/edit-body.ts";
import {
  type FinishReason,
  isSingleCall,
  type RunEvent,
  type RunRequest,
  type TokenChance,
  type TokenLogprob,
  type Usage,
} from "../core/run.ts";
import { AnswerBudget } from "./budget.ts";
import { type AnsweredCall, ChoiceCalls } from "./calls.ts";
import { type Counts, countsOf, meaningOf, textsOf } from "./forms.ts";
import {
  readChatLogprobs,
  readTextLogprobs,
  type WireChance,
  type WireChoice,
  type WireChunk,
  type WireTextLogprobs,
} from "./wire.ts";

/** Token ids do not travel in this API. */
const NO_TOKEN = 0;

interface Choice {
  readonly calls: ChoiceCalls;
  end: { readonly reason: FinishReason; readonly wire: WireChoice } | undefined;
  pieces: number; // text events, for estimates
  reasoningPieces: number;
}

/** Progress of the prompt in a chunk; that of the model's load comes before the answer (attempt.ts). */
function progressEvents({ prompt_progress: at }: WireChunk, request: RunRequest): RunEvent[] {
  if (request.progress !== true || at === undefined || at === null) return [];
  const { total, cache: cached, processed, time_ms: ms, queued_before: ahead } = at;
  return [
    { type: "prompt_progress", total, cached, processed, ms, ...defined({ ahead: ahead ?? undefined }) },
  ];
}

/** The answer to one request. */
export class Answer {
  private readonly request: RunRequest;
  private readonly choices: readonly Choice[];
  private readonly budget: AnswerBudget;
  private usage: Counts | undefined;
  private edits = 0;

  constructor(request: RunRequest) {
    this.request = request;
    this.budget = new AnswerBudget(request);
    const { prompt } = request;
    const isSingle = prompt.type === "chat" && isSingleCall(prompt);
    this.choices = Array.from({ length: request.choices }, (_, index) => ({
      calls: new ChoiceCalls(index, isSingle),
      end: undefined,
      pieces: 0,
      reasoningPieces: 0,
    }));
  }

  /** Whether all choices have ended. Calls and text may still follow: some servers send their end first. */
  get isComplete(): boolean {
    return this.choices.every(({ end }) => end !== undefined);
  }

  /** Calls so far, with the fields that came beside them. */
  get calls(): readonly AnsweredCall[] {
    return this.choices.flatMap(({ calls }) => calls.answered);
  }

  /**
   * Events of a chunk, in order. A chunk that names a choice that was not asked for has none. Throws StreamError where the answer is more
   * than it can be.
   */
  take(chunk: WireChunk): readonly RunEvent[] {
    this.budget.chunk();
    this.usage = countsOf(chunk.usage) ?? this.usage;
    const events: RunEvent[] = [...progressEvents(chunk, this.request), ...this.editEvents(chunk)];
    for (const wire of chunk.choices ?? []) {
      const index = wire.index ?? 0;
      const choice = this.choices[index];
      if (choice === undefined) continue;
      if (this.request.maxTokens !== 0 || this.request.echo === true) this.piece(choice, index, wire, events);
      const reason = meaningOf(wire.finish_reason);
      if (reason === undefined || reason === "error") continue; // exchange.ts makes an error of the latter
      if (choice.end === undefined || choice.end.reason === "stop") choice.end = { reason, wire };
    }
    return events;
  }

  /** The ends of all choices, once nothing more can follow. */
  ends(): readonly RunEvent[] {
    return this.choices.flatMap((choice, index) => {
      const unnamed = choice.calls.end();
      return choice.end === undefined ? unnamed : [...unnamed, this.endOf(choice, index, choice.end)];
    });
  }

  /** Usage of the run: the upstream's, else an estimate from the received pieces and the prompt. */
  counts(promptTokens: number): Usage {
    const { usage } = this;
    const sum = (of: (choice: Choice) => number): number =>
      this.choices.reduce((total, choice) => total + of(choice), 0);
    return {
      promptTokens: usage?.promptTokens ?? promptTokens,
      cachedTokens: usage?.cachedTokens ?? 0,
      completionTokens: usage?.completionTokens ?? sum(({ pieces }) => pieces),
      reasoningTokens: usage?.reasoningTokens ?? sum(({ reasoningPieces }) => reasoningPieces),
      ...defined({ closedThoughts: usage?.closedThoughts }),
    };
  }

  /** Edits that are new: each list has those before, too. */
  private editEvents({ context_management: body }: WireChunk): readonly RunEvent[] {
    const { prompt } = this.request;
    if (body === undefined || prompt.type !== "chat") return [];
    const edits = editsIn(body, prompt.messages).slice(this.edits);
    this.edits += edits.length;
    return edits.length === 0 ? [] : [{ type: "context_edited", edits }];
  }

  private piece(choice: Choice, index: number, wire: WireChoice, events: RunEvent[]): void {
    const delta = wire.delta ?? wire.message ?? undefined;
    const read = delta === undefined ? { text: wire.text ?? "", reasoning: "" } : textsOf(delta);
    const logprobs = this.request.logprobs === undefined ? undefined : logprobsOf(wire);
    this.budget.spend({ ...read, logprobs, delta });
    if (read.reasoning !== "") {
      choice.pieces++;
      choice.reasoningPieces++;
      events.push({ type: "reasoning", choice: index, text: read.reasoning });
    }
    if (read.text !== "" || (logprobs !== undefined && logprobs.length > 0)) {
      choice.pieces++;
      events.push({ type: "text", choice: index, text: read.text, ...defined({ logprobs }) });
    }
    if (delta === undefined) return;
    choice.pieces += delta.tool_calls?.length ?? 0;
    events.push(...choice.calls.take(delta, read.reasoning));
    this.budget.count(choice.calls.total);
  }

  private endOf(choice: Choice, index: number, { reason, wire }: NonNullable<Choice["end"]>): RunEvent {
    const stop = wire.stop_reason ?? wire.matched_stop;
    const ended = typeof stop === "string" && this.request.stop.includes(stop) ? { stop } : {};
    const meant = this.request.maxTokens === 0 ? "length" : reason;
    // Some servers end an answer that is calls with "stop".
    const isCalls = meant === "stop" && choice.calls.count > 0;
    const fingerprint = wire.fingerprint ?? undefined;
    const end = { choice: index, reason: isCalls ? ("tool_calls" as const) : meant, ...ended };
    return { type: "choice_end", ...end, ...defined({ fingerprint }) };
  }
}

function logprobsOf({ logprobs }: WireChoice): readonly TokenLogprob[] | undefined {
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
