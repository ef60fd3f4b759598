// Heads of Responses resources, for tests.

import { parseResponsesRequest, type StoredResponses } from "../../src/dialects/responses/request.ts";
import type { ResponseHead } from "../../src/dialects/responses/resource.ts";
import { ServiceError } from "../../src/core/error.ts";
import { responsesBody } from "./app.ts";
import type { Body } from "./rules.ts";

/** An empty store. */
export const NOTHING_STORED: StoredResponses = {
  conversation() {
    throw new ServiceError("response_not_found", "previous_response_id: there is none", {
      param: "previous_response_id",
    });
  },
  item: () => undefined,
};

/** Head and clock of a response to a body with these fields. */
export function responseHead(extra: Body = {}): {
  readonly head: ResponseHead;
  readonly clock: () => number;
} {
  const { echo } = parseResponsesRequest(responsesBody(extra), NOTHING_STORED);
  const head = { id: "resp_000000000000000000000001", created: 1_700_000_000, model: "tiny", echo };
  return { head, clock: () => 1_700_000_002 };
}
