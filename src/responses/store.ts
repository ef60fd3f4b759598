// Store of responses: serves GET, conversations for previous_response_id, and items for item references. Knows neither
// HTTP nor runs.
// Each response holds its whole conversation: a chain goes on after earlier responses are gone, at the price of n² bytes for n turns.

import type { InputMessage } from "../core/agent.ts";
import { type ForCaller, SERVER } from "../core/caller.ts";
import { defined } from "../core/defined.ts";
import { ServiceError } from "../core/error.ts";
import { RESPONSE_LIFE_MS, RESPONSES_MAX } from "./limits.ts";
import type { OwnedState, Records } from "../core/state.ts";
import { brief } from "../core/shorten.ts";
import type { ResponseBuilder } from "../dialects/responses/builder.ts";
import { inputItemId, responseOfItem } from "../dialects/responses/ids.ts";
import type { InputItem } from "../dialects/responses/input-items.ts";
import { answerMessages } from "../dialects/responses/messages.ts";
import type { StoredConversation, StoredResponses, ResponsesCall } from "../dialects/responses/request.ts";
import { errorBody, isFinal, type ResponseResource } from "../dialects/responses/resource.ts";

/** An input item with the id under which it is listed and referred to. */
export type StoredItem = InputItem & { readonly id: string };

interface StoredResponse {
  readonly resource: ResponseResource;
  /** Input items of its request. */
  readonly input: readonly StoredItem[];
  /** The conversation without instructions, including the answer once it is final. */
  readonly messages: readonly InputMessage[];
  readonly sessionId?: string;
}

/** Each caller's responses on a State. Marks those that an earlier process left unfinished as failed. */
export function responseStore(state: OwnedState): ForCaller<ResponseStore> {
  const records = state.records<StoredResponse>("responses", {
    capacity: RESPONSES_MAX,
    life: { type: "fixed", ms: RESPONSE_LIFE_MS },
    mayGo: ({ resource }) => isFinal(resource.status),
  });
  for (const record of records(SERVER).list()) failUnfinished(records(SERVER), record);
  return (caller) => new ResponseStore(records(caller));
}

/** The stored responses of a caller. */
export class ResponseStore implements StoredResponses {
  private readonly records: Records<StoredResponse>;

  constructor(records: Records<StoredResponse>) {
    this.records = records;
  }

  /** Stores the current state of a response, replacing an earlier state. */
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

  /** Input items of a response's request. Throws `response_not_found`. */
  input(id: string): readonly StoredItem[] {
    return this.find(id).input;
  }

  /** Input items of a response and of those that it continues, oldest first, as far as they are stored. */
  inputsUntil(id: string | null): readonly StoredItem[] {
    const inputs: (readonly StoredItem[])[] = [];
    for (let at = id; at !== null;) {
      const record = this.records.get(at);
      if (record === undefined) break;
      inputs.unshift(record.input);
      at = record.resource.previous_response_id;
    }
    return inputs.flat();
  }

  /** Throws `response_not_found`. */
  delete(id: string): void {
    if (!this.records.delete(id)) throw notFound(id);
  }

  conversation(id: string): StoredConversation {
    const { resource, messages, sessionId } = this.find(id, "previous_response_id");
    if (isFinal(resource.status)) return { messages, ...defined({ sessionId }) };
    const message = "previous_response_id names an unfinished response; wait until it is finished";
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
}

function failUnfinished(records: Records<StoredResponse>, record: StoredResponse): void {
  if (isFinal(record.resource.status)) return;
  const error = errorBody({
    code: "shutting_down",
    message: "the server stopped before this response was finished",
  });
  records.put(record.resource.id, { ...record, resource: { ...record.resource, status: "failed", error } });
}

/** A message for later requests: errors about its files and media name previous_response_id, not a path of the old body. */
function asEarlier(message: InputMessage): InputMessage {
  const param = "previous_response_id";
  return {
    ...message,
    content: message.content.map((part) => ("param" in part ? { ...part, param } : part)),
  };
}

function notFound(id: string, param?: string): ServiceError {
  const message = `stored response ${JSON.stringify(brief(id, 64))} not found; it may have expired or been deleted`;
  if (param === undefined) return new ServiceError("response_not_found", message);
  return new ServiceError("response_not_found", `${param}: ${message}`, { param });
}
