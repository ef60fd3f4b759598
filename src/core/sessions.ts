// Conversations that the server remembers by name, tool turns included. Spec: Sessions.

import type { InputMessage } from "./agent.ts";
import type { Message } from "./message.ts";

/** A session while a request works in it. */
export interface OpenSession {
  readonly id: string;
  /** Names it among the sessions of all keys: what belongs to it is kept under this. */
  readonly key: string;
  /** Whether a request has named it. The others are the first to go when there are too many. */
  readonly isNamed: boolean;
  /** The request's messages, with what only the server knows of the conversation in its place. */
  readonly messages: readonly InputMessage[];
  /** Whether actions of this kind are approved; what a kind is, agent/permission.ts says. */
  isTrusted(kind: string): boolean;
  /** Approves further actions of this kind, until the session ends. */
  trust(kind: string): void;
  /** Keeps the conversation, its files and media taken, together with what was said and done since. */
  save(talk: readonly Message[], turn: readonly Message[]): void;
}

/** A caller's sessions. */
export interface Sessions {
  /**
   * The session that a request continues, or a new one; nothing is stored yet. With a name, the messages may be the
   * whole conversation or only its new end. Without one, it is the session whose conversation the messages continue.
   */
  open(sessionId: string | undefined, messages: readonly InputMessage[]): OpenSession;
  /** Undefined when unknown or idle for too long. */
  get(sessionId: string): readonly Message[] | undefined;
  /** Replaces a session. */
  put(sessionId: string, messages: readonly Message[]): void;
  /** False when there was none. */
  delete(sessionId: string): boolean;
  /** Key of the caller's session of this id, unique among all API keys. */
  keyOf(sessionId: string): string;
}
