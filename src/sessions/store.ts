// Sessions by name, over a State. An index in memory says which sessions begin how and how large they are, so that one
// is found without reading all.

import { createHash } from "node:crypto";
import type { InputMessage } from "../core/agent.ts";
import { newId } from "../core/id.ts";
import { SESSION_IDLE_MS, SESSION_TRUST_MAX, SESSIONS_CHARS_MAX, SESSIONS_MAX } from "../core/limits.ts";
import type { Message } from "../core/message.ts";
import type { OpenSession, Sessions } from "../core/sessions.ts";
import type { Records, State } from "../core/state.ts";
import { textOf } from "./compare.ts";
import { continued, splice, split } from "./splice.ts";

/** What is stored of a session. */
interface Session {
  readonly id: string;
  readonly messages: readonly Message[];
  /** Kinds of actions that need no approval any more, the latest last. */
  readonly trusted?: readonly string[];
}

interface Entry {
  /** Fingerprint of the first message of the talk. */
  readonly opener: string;
  readonly characters: number;
}

export interface SessionStoreOptions {
  /** Bounds other than those of limits.ts, for tests. */
  readonly capacity?: number;
  readonly charactersMax?: number;
}

export class SessionStore implements Sessions {
  private readonly records: Records<Session>;
  /** Least recently saved first, as the records are. */
  private readonly index = new Map<string, Entry>();
  private readonly listeners: ((sessionId: string) => void)[] = [];
  private readonly charactersMax: number;

  constructor(state: State, options: SessionStoreOptions = {}) {
    this.charactersMax = options.charactersMax ?? SESSIONS_CHARS_MAX;
    this.records = state.records<Session>("sessions", {
      capacity: options.capacity ?? SESSIONS_MAX,
      life: { type: "idle", ms: SESSION_IDLE_MS },
    });
    for (const session of this.records.list()) this.index.set(session.id, entryOf(session));
  }

  open(sessionId: string | undefined, sent: readonly InputMessage[]): OpenSession {
    const id = sessionId ?? this.find(sent) ?? newId("sess_");
    const stored = this.get(id);
    const messages = stored === undefined ? sent : splice(stored, sent);
    return {
      id,
      messages,
      isTrusted: (kind) => this.trustedIn(id).includes(kind),
      trust: (kind) => {
        const trusted = [...this.trustedIn(id), kind].slice(-SESSION_TRUST_MAX);
        this.store({ id, messages: this.get(id) ?? [], trusted });
      },
      save: (talk, turn) => this.put(id, [...talk, ...turn]),
    };
  }

  get(id: string): readonly Message[] | undefined {
    return this.records.get(id)?.messages;
  }

  put(id: string, messages: readonly Message[]): void {
    this.store({ id, messages, trusted: this.trustedIn(id) });
  }

  delete(id: string): boolean {
    const existed = this.records.delete(id);
    this.sweep();
    return existed;
  }

  onEnd(listener: (sessionId: string) => void): void {
    this.listeners.push(listener);
  }

  /** Notices which sessions are there no more. */
  sweep(): void {
    for (const id of this.index.keys()) {
      if (!this.records.has(id)) this.end(id);
    }
  }

  private trustedIn(id: string): readonly string[] {
    return this.records.get(id)?.trusted ?? [];
  }

  private store(session: Session): void {
    const { id } = session;
    this.records.put(id, session);
    this.index.delete(id); // comes back as the youngest
    this.index.set(id, entryOf(session));
    this.sweep(); // the set may have been full
    this.makeRoom();
  }

  /** Drops the least recently used sessions while all together are too large. */
  private makeRoom(): void {
    let characters = 0;
    for (const entry of this.index.values()) characters += entry.characters;
    for (const [id, entry] of this.index) {
      if (characters <= this.charactersMax) return;
      this.records.delete(id);
      this.end(id);
      characters -= entry.characters;
    }
  }

  private end(id: string): void {
    this.index.delete(id);
    for (const listener of this.listeners) listener(id);
  }

  /** The session of which the most is continued. */
  private find(messages: readonly InputMessage[]): string | undefined {
    const opener = openerOf(messages);
    let best: string | undefined;
    let longest = 0;
    for (const [id, entry] of this.index) {
      const stored = entry.opener === opener ? this.get(id) : undefined;
      const length = stored === undefined ? 0 : continued(stored, messages);
      if (length <= longest) continue;
      longest = length;
      best = id;
    }
    return best;
  }
}

function entryOf({ messages }: Session): Entry {
  return { opener: openerOf(messages), characters: messages.reduce((sum, one) => sum + lengthOf(one), 0) };
}

function openerOf(messages: readonly InputMessage[]): string {
  const [first] = split(messages)[1];
  return first === undefined ? "" : createHash("sha256").update(textOf(first)).digest("base64");
}

function lengthOf({ content, reasoning = "", toolCalls = [] }: Message): number {
  const calls = toolCalls.reduce((sum, call) => sum + call.name.length + call.arguments.length, 0);
  const lengths = content.map((part) => (part.type === "text" ? part.text.length : part.data.length));
  return lengths.reduce((sum, length) => sum + length, reasoning.length + calls);
}
