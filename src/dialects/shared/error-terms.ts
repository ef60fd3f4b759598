// Translates errors of dialect-independent code into the terms of the client's dialect: field names, and advice that its
// clients can follow.

import { defined } from "../../core/defined.ts";
import { ServiceError } from "../../core/error.ts";

/** Field names and advice of a dialect. */
export interface ErrorTerms {
  /** Names of chat-completions fields in this dialect. */
  readonly names: Readonly<Record<string, string>>;
  /** Advice for a prompt that exceeds the context; absent where the error has its own. */
  readonly tooLong?: string;
}

export const CHAT_TERMS: ErrorTerms = {
  names: {},
  tooLong: "shorten it, or send truncate_sequence: true to drop its beginning",
};

export const RESPONSES_TERMS: ErrorTerms = {
  names: { messages: "input" },
  tooLong: 'shorten it, or send truncation: "auto" to drop its beginning',
};

export const EMBEDDING_TERMS: ErrorTerms = {
  names: { prompt: "input" },
};

/** Coding agents that use this dialect cannot send extra fields; they can compact the conversation. */
export const MESSAGES_TERMS: ErrorTerms = {
  names: {},
  tooLong:
    "compact the conversation or start a new one, send fewer tools, or start the server with a larger --max-seq-len",
};

/** Passes a promise on, with its error translated into a dialect's terms. */
export async function withErrorTerms<T>(terms: ErrorTerms, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (thrown) {
    throw thrown instanceof ServiceError ? translated(terms, thrown) : thrown;
  }
}

function translated({ names, tooLong }: ErrorTerms, error: ServiceError): ServiceError {
  const chatField = error.param?.split(/[.[]/)[0] ?? "";
  const dialectField = names[chatField];
  const isTooLong = error.code === "context_length_exceeded";
  if (dialectField === undefined && !isTooLong) return error;
  const { param, retryAfterSecs } = error;
  const named =
    dialectField !== undefined && param !== undefined && error.message.startsWith(param)
      ? dialectField + error.message.slice(param.length)
      : error.message;
  const field = dialectField ?? param;
  return new ServiceError(
    error.code,
    isTooLong && tooLong !== undefined ? `${named.replace(/\.$/, "")}; ${tooLong}` : named,
    {
      ...defined({ param: field }),
      cause: error,
      ...defined({ retryAfterSecs }),
    },
  );
}
