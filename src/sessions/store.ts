// Session store on a State. An in-memory index of first messages and sizes finds a session without reading all of them.

import { hash } from "node:crypto";
import type { InputMessage } from "../core/agent.ts";
import { type Caller, type ForCaller, SERVER } from "../core/caller.ts";
import { leastWorth, leastWorthBeyond } from "../core/least-worth.ts";
import { newId } from "../core/id.ts";
import { SESSION_IDLE_MS, SESSION_TRUST_MAX, SESSIONS_CHARS_MAX, SESSIONS_MAX } from "./limits.ts";
import type { Message } from "../core/message.ts";
import type { OpenSession, Sessions } from "../core/sessions.ts";
import type { OwnedState, Records } from "../core/state.ts";
import { textOf } from "./compare.ts";
import { continuedLength, splice, split } from "./splice.ts";

/** Stored record of a session. */
interface Session {
  /** Id for its owner. */
  readonly id: string;
  /** Storage key, if it differs from the id. */
  readonly key?: string;
  readonly messages: readonly Message[];
  /** Remembered approvals, latest last. */
  readonly trusted?: readonly string[];
  /** No request has named it yet. */
  readonly isUnnamed?: true;
}

interface Entry {
  /** Hash of the first message after the framing messages. */
  readonly opener: string;
  readonly characters: number;
  /** API key that it belongs to; "" without keys. */
  readonly owner: string;
  readonly isUnnamed: boolean;
}

export interface SessionStoreOptions {
  /** Overrides of limits.ts, for tests. */
  readonly capacity?: number;
  readonly charactersMax?: number;
}

/** The sessions of all callers. */
export class SessionStore {
  /** Those of one caller. */
  readonly of: ForCaller<Sessions> = (caller) =>
    new SessionsOfCaller(this, { records: this.records(caller), index: this.index, caller });
  private readonly records: ForCaller<Records<Session>>;
  private readonly all: Records<Session>;
  /** Least recently saved first, in the order of the records. */
  private readonly index = new Map<string, Entry>();
  private readonly listeners: ((sessionKey: string) => void)[] = [];
  private readonly capacity: number;
  private readonly charactersMax: number;

  constructor(state: OwnedState, options: SessionStoreOptions = {}) {
    this.capacity = options.capacity ?? SESSIONS_MAX;
    this.charactersMax = options.charactersMax ?? SESSIONS_CHARS_MAX;
    this.records = state.records<Session>("sessions", {
      capacity: this.capacity,
      life: { type: "idle", ms: SESSION_IDLE_MS },
    });
    this.all = this.records(SERVER);
    for (const session of this.all.list()) this.index.set(session.key ?? session.id, entryOf(session));
  }

  /** Calls back with its key when a session has ended: deleted at once, dropped or idle soon after. */
  onEnd(listener: (sessionKey: string) => void): void {
    this.listeners.push(listener);
  }

  /** Drops index entries of expired sessions. */
  sweep(): void {
    for (const key of this.index.keys()) if (!this.all.has(key)) this.end(key);
  }

  /** Evicts a session if all places are taken: the oldest without a name, else the oldest of the key with the most. */
  makePlace(): void {
    if (this.index.size < this.capacity) return;
    const { index } = this;
    const victim = leastWorth(
      [...index].map(([key, { owner, isUnnamed }]) => ({ item: key, client: owner, isBrief: isUnnamed })),
    );
    if (victim === undefined) return;
    this.all.delete(victim);
    this.end(victim);
  }

  /** Evicts sessions until the size limit is met, of the key with the most first. */
  makeRoom(): void {
    const holders = [...this.index].map(([key, { owner, characters, isUnnamed }]) => {
      return { item: key, client: owner, size: characters, isBrief: isUnnamed };
    });
    for (const key of leastWorthBeyond(this.charactersMax, holders) ?? []) {
      this.all.delete(key);
      this.end(key);
    }
  }

  private end(key: string): void {
    this.index.delete(key);
    for (const listener of this.listeners) listener(key);
  }
}

interface CallersPart {
  readonly records: Records<Session>;
  readonly index: Map<string, Entry>;
  readonly caller: Caller;
}

class SessionsOfCaller implements Sessions {
  private readonly store: SessionStore;
  private readonly part: CallersPart;

  constructor(store: SessionStore, part: CallersPart) {
    this.store = store;
    this.part = part;
  }

  open(sessionId: string | undefined, sent: readonly InputMessage[]): OpenSession {
    const id = sessionId ?? this.find(sent) ?? newId("sess_");
    const key = this.keyOf(id);
    const stored = this.get(id);
    const messages = stored === undefined ? sent : splice(stored, sent);
    const isNamed =
      sessionId !== undefined || (stored !== undefined && this.part.index.get(key)?.isUnnamed !== true);
    return {
      id,
      key,
      messages,
      isNamed,
      isTrusted: (kind) => this.trustedIn(key).includes(kind),
      trust: (kind) => {
        const trusted = [...this.trustedIn(key), kind].slice(-SESSION_TRUST_MAX);
        this.keep({ id, key, messages: this.get(id) ?? [], trusted, ...unnamed(isNamed) });
      },
      save: (talk, turn) => {
        const trusted = this.trustedIn(key);
        this.keep({ id, key, messages: [...talk, ...turn], trusted, ...unnamed(isNamed) });
      },
    };
  }

  keyOf(id: string): string {
    const { records, caller } = this.part;
    if (caller.owner === undefined) return id;
    const key = `${caller.owner}:${id}`;
    return records.has(id) && !records.has(key) ? id : key; // stored before API keys were configured
  }

  get(id: string): readonly Message[] | undefined {
    return this.part.records.get(this.keyOf(id))?.messages;
  }

  put(id: string, messages: readonly Message[]): void {
    const key = this.keyOf(id);
    this.keep({ id, key, messages, trusted: this.trustedIn(key) });
  }

  delete(id: string): boolean {
    const existed = this.part.records.delete(this.keyOf(id));
    this.store.sweep();
    return existed;
  }

  private trustedIn(key: string): readonly string[] {
    return this.part.records.get(key)?.trusted ?? [];
  }

  private keep({ key, ...session }: Session & { readonly key: string }): void {
    const { records, index } = this.part;
    if (!index.has(key)) this.store.makePlace();
    records.put(key, key === session.id ? session : { ...session, key });
    index.delete(key); // re-added as the youngest
    index.set(key, entryOf({ ...session, key }));
    this.store.sweep(); // the save may have evicted sessions
    this.store.makeRoom();
  }

  /** Id of the caller's session with the longest continued conversation. */
  private find(messages: readonly InputMessage[]): string | undefined {
    const { records, index } = this.part;
    const opener = openerOf(messages);
    let best: string | undefined;
    let longest = 0;
    for (const [key, entry] of index) {
      const stored = entry.opener === opener ? records.get(key) : undefined;
      const length = stored === undefined ? 0 : continuedLength(stored.messages, messages);
      if (length <= longest) continue;
      longest = length;
      best = stored?.id;
    }
    return best;
  }
}

function entryOf({ id, key = id, messages, isUnnamed }: Session): Entry {
  return {
    opener: openerOf(messages),
    characters: messages.reduce((sum, one) => sum + lengthOf(one), 0),
    owner: key.endsWith(`:${id}`) ? key.slice(0, -id.length - 1) : "",
    isUnnamed: isUnnamed === true,
  };
}

function unnamed(isNamed: boolean): Pick<Session, "isUnnamed"> {
  return isNamed ? {} : { isUnnamed: true };
}

function openerOf(messages: readonly InputMessage[]): string {
  const [first] = split(messages)[1];
  return first === undefined ? "" : hash("sha256", textOf(first), "base64");
}

function lengthOf({ content, reasoning = "", toolCalls = [] }: Message): number {
  const calls = toolCalls.reduce((sum, call) => sum + call.name.length + call.arguments.length, 0);
  const lengths = content.map((part) => (part.type === "text" ? part.text.length : part.data.length));
  return lengths.reduce((sum, length) => sum + length, reasoning.length + calls);
}
