// Converts events of a streamed response (Responses API) to chunks of a chat completion.
// Source: OpenAI's reference of streaming responses.

import { StreamError } from "./sse.ts";
import {
  callDelta,
  deltaChunk,
  type EventReading,
  progressChunk,
  readChunk,
  readResponsesEvent,
  type ResponsesEvent,
  type WireChunk,
  type WireDelta,
} from "./wire.ts";

/** Reads the events of one response. */
export class ResponsesEvents {
  /** The answer has a tool call. */
  private hasCalls = false;

  /** The chunk of an event; undefined for events without one. Throws StreamError. */
  read(json: unknown): EventReading {
    const event = readResponsesEvent(json);
    if (event === undefined) {
      const load = progressChunk(readChunk(json) ?? {}); // svc tells it before the response begins
      if (load === undefined) throw new StreamError("sent an event that is not one of a response");
      return load;
    }
    switch (event.type) {
      case "error":
        return { error: event.error ?? { code: event.code, message: event.message } };
      case "response.in_progress":
        return progressChunk(event);
      case "response.failed":
        return { error: event.response?.error ?? {} };
      case "response.completed":
      case "response.incomplete":
        return this.ending(event);
      case "response.output_text.delta":
        return {
          choices: [
            { delta: { content: event.delta ?? null }, logprobs: { content: event.logprobs ?? null } },
          ],
        };
      default:
        return deltaChunk(this.deltaOf(event));
    }
  }

  private deltaOf(event: ResponsesEvent): WireDelta | undefined {
    const { type, item, delta = null, output_index: index = null } = event;
    switch (type) {
      case "response.refusal.delta":
        return { content: delta };
      case "response.reasoning_text.delta":
      case "response.reasoning_summary_text.delta":
        return { reasoning_content: delta };
      case "response.output_item.added":
        if (item?.type !== "function_call") return undefined;
        this.hasCalls = true;
        return callDelta(index, item.arguments ?? null, {
          id: item.call_id ?? null,
          name: item.name ?? null,
        });
      case "response.function_call_arguments.delta":
        return callDelta(index, delta);
      default:
        return undefined;
    }
  }

  private ending({ type, response }: ResponsesEvent): WireChunk {
    const cut = response?.incomplete_details?.reason ?? "length";
    const reason = type === "response.incomplete" ? cut : this.hasCalls ? "tool_calls" : "stop";
    return {
      choices: [{ finish_reason: reason, fingerprint: response?.fingerprint ?? null }],
      usage: response?.usage,
    };
  }
}
