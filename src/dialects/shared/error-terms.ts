// Errors of what dialects share, in the words of the one that a client speaks: fields by their names there, and advice that
// its clients can follow.

import { ServiceError } from "../../core/error.ts";

/** A dialect's own words. */
export interface ErrorTerms {
  /** What fields of chat completions are called. */
  readonly names: Readonly<Record<string, string>>;
  /** What to do about a prompt that is longer than the context. */
  readonly tooLong: string;
}

export const CHAT_TERMS: ErrorTerms = {
  names: {},
  tooLong: "Shorten it, or send truncate_sequence: true to drop its beginning.",
};

export const RESPONSES_TERMS: ErrorTerms = {
  names: { messages: "input" },
  tooLong: 'Shorten it, or send truncation: "auto" to drop its beginning.',
};

/** Agents that speak this dialect cannot send fields of their own; they compact what they send. */
export const MESSAGES_TERMS: ErrorTerms = {
  names: {},
  tooLong:
    "Compact the conversation or begin a new one, offer fewer tools, or start the server with a larger max_seq_len.",
};

/** Rejects as the promise does, in a dialect's own words. */
export async function withErrorTerms<T>(terms: ErrorTerms, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (thrown) {
    throw thrown instanceof ServiceError ? translated(terms, thrown) : thrown;
  }
}

function translated({ names, tooLong }: ErrorTerms, error: ServiceError): ServiceError {
  const theirs = error.param?.split(/[.[]/)[0] ?? "";
  const ours = names[theirs];
  const isTooLong = error.code === "context_length_exceeded";
  if (ours === undefined && !isTooLong) return error;
  const { param, retryAfterSecs } = error;
  const named =
    ours !== undefined && param !== undefined && error.message.startsWith(param)
      ? ours + error.message.slice(param.length)
      : error.message;
  const field = ours ?? param;
  return new ServiceError(error.code, isTooLong ? `${named} ${tooLong}` : named, {
    ...(field === undefined ? {} : { param: field }),
    cause: error,
    ...(retryAfterSecs === undefined ? {} : { retryAfterSecs }),
  });
}
