// The session of an answer in which the server does nothing but generate: one pass, remembered when it has ended well.

import type { AnswerEvent } from "../core/agent.ts";
import type { Message, ToolCall } from "../core/message.ts";
import type { RunEvent } from "../core/run.ts";
import type { OpenSession } from "../core/sessions.ts";

/** The events of a run of one choice, with the session's name in its place; the session is saved before `finish`. */
export async function* inSession(
  session: OpenSession,
  events: AsyncIterable<RunEvent>,
): AsyncGenerator<AnswerEvent> {
  const spoken = new Spoken();
  for await (const event of events) {
    spoken.add(event);
    if (event.type === "finish") session.save([spoken.message()]);
    yield event;
    if (event.type === "accepted") yield { type: "session", sessionId: session.id };
  }
}

/** What the model said in one choice, as a message. */
class Spoken {
  private text = "";
  private reasoning = "";
  private readonly calls = new Map<number, ToolCall>();

  add(event: RunEvent): void {
    if (event.type === "text") this.text += event.text;
    if (event.type === "reasoning") this.reasoning += event.text;
    if (event.type === "tool_call_start") {
      this.calls.set(event.index, { id: event.id, name: event.name, arguments: "" });
    }
    if (event.type === "tool_call_args") {
      const call = this.calls.get(event.index);
      if (call !== undefined) {
        this.calls.set(event.index, { ...call, arguments: call.arguments + event.delta });
      }
    }
  }

  message(): Message {
    return {
      role: "assistant",
      content: this.text === "" ? [] : [{ type: "text", text: this.text }],
      ...(this.reasoning === "" ? {} : { reasoning: this.reasoning }),
      ...(this.calls.size === 0 ? {} : { toolCalls: [...this.calls.values()] }),
    };
  }
}
