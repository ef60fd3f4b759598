// Stored responses: what GET answers, what a chain goes on from, what items refer to. Knows neither HTTP nor runs.

import type { InputMessage } from "../core/agent.ts";
import { defined } from "../core/defined.ts";
import { ServiceError } from "../core/error.ts";
import { RESPONSE_LIFE_MS, RESPONSES_MAX } from "./limits.ts";
import type { Records, State } from "../core/state.ts";
import type { ResponseBuilder } from "../dialects/responses/builder.ts";
import { inputItemId, responseOfItem } from "../dialects/responses/ids.ts";
import type { InputItem } from "../dialects/responses/input-items.ts";
import { answerMessages } from "../dialects/responses/messages.ts";
import type { StoredConversation, StoredResponses, ResponsesCall } from "../dialects/responses/request.ts";
import { errorBody, isFinal, type ResponseResource } from "../dialects/responses/resource.ts";

/** An input item as it is listed and referred to. */
export type StoredItem = InputItem & { readonly id: string };

interface StoredResponse {
  readonly resource: ResponseResource;
  /** What its request brought. */
  readonly input: readonly StoredItem[];
  /** The whole conversation without instructions; with the answer once it is final. See docs/decisions/025. */
  readonly messages: readonly InputMessage[];
  readonly sessionId?: string;
}

/** The stored responses of a server. */
export class ResponseStore implements StoredResponses {
  private readonly records: Records<StoredResponse>;

  /** Responses that an earlier process left unfinished are failed: nobody works on them any more. */
  constructor(state: State) {
    this.records = state.records("responses", {
      capacity: RESPONSES_MAX,
      life: { type: "fixed", ms: RESPONSE_LIFE_MS },
      mayGo: ({ resource }) => isFinal(resource.status),
    });
    for (const record of this.records.list()) this.failUnfinished(record);
  }

  /** Stores a response as it stands, or replaces what was stored of it before. */
  keep(call: ResponsesCall, builder: ResponseBuilder): void {
    const resource = builder.resource();
    const answer = isFinal(resource.status) ? answerMessages(builder.answer()) : [];
    const sessionId = builder.sessionId ?? call.agent.sessionId;
    this.records.put(resource.id, {
      resource,
      input: call.input.map((item, index) => {
        return { ...item, id: item.id ?? inputItemId(item.type, resource.id, index) };
      }),
      messages: [...call.messages.map(asEarlier), ...answer],
      ...defined({ sessionId }),
    });
  }

  /** Throws `response_not_found`. */
  resource(id: string): ResponseResource {
    return this.find(id).resource;
  }

  /** What the request of a response brought. Throws `response_not_found`. */
  input(id: string): readonly StoredItem[] {
    return this.find(id).input;
  }

  /** Throws `response_not_found`. */
  delete(id: string): void {
    if (!this.records.delete(id)) throw notFound(id);
  }

  conversation(id: string): StoredConversation {
    const { resource, messages, sessionId } = this.find(id, "previous_response_id");
    if (isFinal(resource.status)) return { messages, ...defined({ sessionId }) };
    const message = "previous_response_id names a response that is not finished; wait until it is";
    throw new ServiceError("invalid_request", message, { param: "previous_response_id" });
  }

  item(itemId: string): InputItem | undefined {
    const responseId = responseOfItem(itemId);
    const record = responseId === undefined ? undefined : this.records.get(responseId);
    const items: readonly (InputItem & { readonly id: string })[] = [
      ...(record?.resource.output ?? []),
      ...(record?.input ?? []),
    ];
    return items.find(({ id }) => id === itemId);
  }

  private find(id: string, param?: string): StoredResponse {
    const record = this.records.get(id);
    if (record === undefined) throw notFound(id, param);
    return record;
  }

  private failUnfinished(record: StoredResponse): void {
    if (isFinal(record.resource.status)) return;
    const error = errorBody({
      code: "shutting_down",
      message: "the server stopped before this response was finished",
    });
    this.records.put(record.resource.id, {
      ...record,
      resource: { ...record.resource, status: "failed", error },
    });
  }
}

/** A message of a request as one of a chain: its files and media stand nowhere in the requests to come. */
function asEarlier(message: InputMessage): InputMessage {
  const param = "previous_response_id";
  return {
    ...message,
    content: message.content.map((part) => ("param" in part ? { ...part, param } : part)),
  };
}

function notFound(id: string, param?: string): ServiceError {
  const shown = id.length > 64 ? `${id.slice(0, 64)}…` : id;
  const message = `there is no stored response ${JSON.stringify(shown)}; it may have expired or been deleted`;
  if (param === undefined) return new ServiceError("response_not_found", message);
  return new ServiceError("response_not_found", `${param}: ${message}`, { param });
}
