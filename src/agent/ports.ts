// What the loop needs of sessions and of files that come with a request; who keeps them is not its business.

import type { FileObject, InputMessage } from "../core/agent.ts";
import type { Message } from "../core/message.ts";
import type { InputFile, ProducedFile } from "../exec/types.ts";

/** A session while a request works in it. */
export interface OpenSession {
  readonly id: string;
  /** The request's messages with what tools did in earlier turns in its place. */
  readonly messages: readonly InputMessage[];
  /** Whether all further actions are approved. */
  isTrusted(): boolean;
  /** Approves all further actions. */
  trust(): void;
  /** Keeps the conversation together with what was said and done since. */
  save(turn: readonly Message[]): void;
}

export interface Sessions {
  /** The session of that name, a matching one, or a new one. */
  open(sessionId: string | undefined, messages: readonly InputMessage[]): OpenSession;
}

/** The messages of a request once their files are stored. */
export interface PreparedInput {
  readonly messages: readonly Message[];
  /** What the model is told of the files; absent where there are none. */
  readonly systemText?: string;
  /** The files themselves, for working directories. */
  readonly files: () => Promise<readonly InputFile[]>;
}

/** Stores the files in messages. Throws ServiceError for one that cannot be had. */
export type PrepareInput = (
  messages: readonly InputMessage[],
  sessionId: string | undefined,
  signal: AbortSignal,
) => Promise<PreparedInput>;

/** Where a file was made. */
export interface FilePlace {
  readonly id: string;
  readonly sessionId: string;
  readonly tool: string;
  readonly round: number;
  readonly turn: number;
}

/** Stores a file that a tool made, or the fact that it did not. */
export type KeepFile = (file: ProducedFile, place: FilePlace) => Promise<FileObject>;
