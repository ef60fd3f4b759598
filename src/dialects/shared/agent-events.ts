// Agent events on the wire: named events in streams, which are the same in every dialect, and what a body holds instead.

import { type Static, Type } from "@sinclair/typebox";
import type { AgentEvent, AnswerEvent, FileObject } from "../../core/agent.ts";
import { FILES_IN_BODY_MAX } from "../../core/limits.ts";
import { eventFrame } from "./frame.ts";

const AGENT_EVENTS = new Set<AnswerEvent["type"]>([
  "session",
  "tool_calling",
  "tool_complete",
  "approval_required",
  "file_produced",
]);

/** Whether an event is about what the server does, not about what the model says. */
export function isAgentEvent(event: AnswerEvent): event is AgentEvent {
  return AGENT_EVENTS.has(event.type);
}

/** The frame of an agent event; "" for the session, which dialects tell in bodies of their own. */
export function agentFrame(event: AgentEvent): string {
  switch (event.type) {
    case "session":
      return "";
    case "tool_calling":
    case "tool_complete": {
      const type = "agentic_tool_call_progress";
      const phase = event.type === "tool_calling" ? "calling" : "complete";
      const { round, toolName, data } = event;
      return eventFrame(type, JSON.stringify({ type, round, tool_name: toolName, phase, data }));
    }
    case "approval_required": {
      const type = "agentic_tool_approval_required";
      const { approvalId, sessionId, round, tool, arguments: args } = event;
      const body = { type, approval_id: approvalId, session_id: sessionId, round, tool, arguments: args };
      return eventFrame(type, JSON.stringify(body));
    }
    case "file_produced":
      return eventFrame("file_produced", JSON.stringify(event.file));
  }
}

/** Which tool made a file, and when. */
export const SourceMeta = Type.Object(
  { tool: Type.String(), round: Type.Integer({ minimum: 0 }), turn: Type.Integer({ minimum: 0 }) },
  { $id: "SourceMeta", description: "Which tool made the file, and when in the conversation." },
);

export const FileBody = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    format: Type.Optional(Type.String()),
    mime_type: Type.Optional(Type.String()),
    bytes: Type.Integer({ minimum: 0 }),
    created_at: Type.Integer({ description: "Unix seconds." }),
    purpose: Type.String({ description: "`agent_output`, or what its uploader said: `user_data`." }),
    source: SourceMeta,
    text: Type.Optional(
      Type.String({ description: "The whole text of a text file, if it is small enough." }),
    ),
    preview: Type.Optional(Type.String({ description: "The beginning of a text file." })),
    data_base64: Type.Optional(
      Type.String({ description: "The bytes of another file, if it is small enough." }),
    ),
    code: Type.Optional(Type.String({ description: "Instead of a body: why there is no such file." })),
    message: Type.Optional(Type.String()),
  },
  { $id: "FileObject", description: "A file that an answer came with." },
);

const AgenticToolCall = Type.Object(
  {
    round: Type.Integer({ minimum: 1 }),
    name: Type.String(),
    arguments: Type.String({ description: "As the model wrote them: JSON text." }),
    result_content: Type.String(),
    result_images_base64: Type.Optional(Type.Array(Type.String())),
    file_ids: Type.Optional(Type.Array(Type.String())),
  },
  { $id: "AgenticToolCall", description: "A tool call that the server made." },
);
type AgenticToolCall = Static<typeof AgenticToolCall>;

/** Properties to spread into the schema of a body. */
export const agentAnswerProperties = {
  session_id: Type.Optional(
    Type.String({ description: "Send it again to continue with the same tools' state." }),
  ),
  agentic_tool_calls: Type.Optional(Type.Array(AgenticToolCall)),
  files: Type.Optional(Type.Array(FileBody)),
};
const AgentAnswer = Type.Object(agentAnswerProperties);

/** Collects what a body says of the server's own actions. */
export class AgentFold {
  private sessionId: string | undefined;
  private readonly calls: AgenticToolCall[] = [];
  private readonly produced: FileObject[] = [];

  add(event: AgentEvent): void {
    switch (event.type) {
      case "session":
        this.sessionId = event.sessionId;
        return;
      case "tool_complete":
        this.calls.push(callBody(event));
        return;
      case "file_produced":
        this.produced.push(event.file);
        return;
      case "tool_calling":
      case "approval_required": // not asked for where nobody listens
        return;
    }
  }

  /** The session, if there is one. */
  session(): string | undefined {
    return this.sessionId;
  }

  /** The first files, as many as a body may hold; the others stay in the store. */
  files(): FileObject[] {
    return this.produced.slice(0, FILES_IN_BODY_MAX);
  }

  /** What is not empty. */
  body(): Static<typeof AgentAnswer> {
    const files = this.files();
    return {
      ...(this.sessionId === undefined ? {} : { session_id: this.sessionId }),
      ...(this.calls.length === 0 ? {} : { agentic_tool_calls: this.calls }),
      ...(files.length === 0 ? {} : { files }),
    };
  }
}

function callBody(event: Extract<AgentEvent, { type: "tool_complete" }>): AgenticToolCall {
  return {
    round: event.round,
    name: event.toolName,
    arguments: event.arguments,
    result_content: event.resultContent,
    ...(event.images.length === 0 ? {} : { result_images_base64: [...event.images] }),
    ...(event.fileIds.length === 0 ? {} : { file_ids: [...event.fileIds] }),
  };
}
