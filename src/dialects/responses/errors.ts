// Errors of what all chat-type dialects share, in the words of this one.

import { ServiceError } from "../../core/error.ts";

/** Fields of chat, and what they are called here. */
const OWN_NAMES: Readonly<Record<string, string>> = { messages: "input", web_search_options: "tools" };

/** The same error about the field that this dialect has. */
export function inOwnWords(error: ServiceError): ServiceError {
  const theirs = error.param?.split(/[.[]/)[0] ?? "";
  const ours = OWN_NAMES[theirs];
  if (ours === undefined || error.param === undefined) return error;
  const message = error.message.startsWith(error.param)
    ? ours + error.message.slice(error.param.length)
    : error.message;
  const { retryAfterSecs } = error;
  return new ServiceError(error.code, message, {
    param: ours,
    cause: error,
    ...(retryAfterSecs === undefined ? {} : { retryAfterSecs }),
  });
}
