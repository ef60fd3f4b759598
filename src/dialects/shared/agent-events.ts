// Wire form of agent events, the same in every dialect: named events in streams, fields in bodies.

import { type Static, Type } from "@sinclair/typebox";
import type { AgentEvent, CutFile, FileObject } from "../../core/agent.ts";
import type { AppliedEdit } from "../../core/applied-edit.ts";
import { defined } from "../../core/defined.ts";
import { ContextManagement, contextManagementBody } from "../../core/edit-body.ts";
import { FILES_IN_BODY_MAX } from "./limits.ts";
import { eventFrame } from "./frame.ts";

/** The frame of an agent event; "" for the session and cut files, which each dialect sends in its own fields. */
export function agentFrame(event: AgentEvent): string {
  switch (event.type) {
    case "session":
    case "input_cut":
    case "context_edited":
      return "";
    case "tool_calling":
    case "tool_complete": {
      const type = "agentic_tool_call_progress";
      const phase = event.type === "tool_calling" ? "calling" : "complete";
      const { round, toolName, data } = event;
      return eventFrame(type, JSON.stringify({ type, round, tool_name: toolName, phase, data }));
    }
    case "tool_progress": {
      const type = "agentic_tool_call_progress";
      const { round, toolName, message } = event;
      const data = { tool_type: "custom", message };
      return eventFrame(type, JSON.stringify({ type, round, tool_name: toolName, phase: "running", data }));
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

/** Origin of a file: tool, round and turn. */
export const SourceMeta = Type.Object(
  {
    tool: Type.String({ description: "Name of the tool." }),
    round: Type.Integer({ description: "Round of tool calls within the answer.", minimum: 0 }),
    turn: Type.Integer({ description: "Turn of the conversation.", minimum: 0 }),
  },
  { $id: "SourceMeta", description: "The tool, round and turn that produced the file." },
);

export const FileBody = Type.Object(
  {
    id: Type.String({ description: "Id under which it can be fetched." }),
    name: Type.String({ description: "Name of the file." }),
    format: Type.Optional(Type.String({ description: "Format, as the model named it." })),
    mime_type: Type.Optional(Type.String({ description: "MIME type." })),
    bytes: Type.Integer({ description: "Size of the file.", minimum: 0 }),
    created_at: Type.Integer({ description: "Unix seconds." }),
    purpose: Type.String({ description: "`agent_output`, or the purpose given at upload: `user_data`." }),
    source: SourceMeta,
    text: Type.Optional(Type.String({ description: "Full text of a text file, if it is small enough." })),
    preview: Type.Optional(Type.String({ description: "Beginning of a text file." })),
    data_base64: Type.Optional(
      Type.String({ description: "Content of a binary file, if it is small enough." }),
    ),
    code: Type.Optional(Type.String({ description: "Error code, if the file could not be produced." })),
    message: Type.Optional(Type.String({ description: "Why the file could not be produced." })),
  },
  { $id: "FileObject", description: "A file attached to an answer." },
);

const CutFileBody = Type.Object(
  {
    name: Type.String({ description: "Name of the file." }),
    shown_characters: Type.Optional(
      Type.Integer({ minimum: 0, description: "Characters that the model got, of a text." }),
    ),
    bytes: Type.Optional(Type.Integer({ minimum: 0, description: "Size of the file, of a text." })),
    unit: Type.Optional(
      Type.Union([Type.Literal("frames"), Type.Literal("pages"), Type.Literal("seconds")], {
        description: "What a medium was cut by; `name` is its field of the request.",
      }),
    ),
    shown: Type.Optional(Type.Number({ minimum: 0, description: "How many of them the model got." })),
    of: Type.Optional(Type.Number({ minimum: 0, description: "How many there are." })),
  },
  { $id: "CutFile", description: "An attached file of which the model got a part." },
);

/** The wire form of cut files. */
export function cutFilesBody(files: readonly CutFile[]): Static<typeof CutFileBody>[] {
  return files.map((file) =>
    "unit" in file ? file : { name: file.name, shown_characters: file.shown, bytes: file.bytes },
  );
}

const AgenticToolCall = Type.Object(
  {
    round: Type.Integer({ description: "Round of tool calls, from 1.", minimum: 1 }),
    name: Type.String({ description: "Name of the tool." }),
    arguments: Type.String({ description: "JSON text as the model generated it." }),
    result_content: Type.String({ description: "Text that the model got." }),
    result_images_base64: Type.Optional(
      Type.Array(Type.String(), { description: "Images that the model got." }),
    ),
    file_ids: Type.Optional(Type.Array(Type.String(), { description: "Ids of files that the tool made." })),
  },
  { $id: "AgenticToolCall", description: "A tool call executed by the server." },
);
type AgenticToolCall = Static<typeof AgenticToolCall>;

/** Properties to spread into the schema of a body. */
export const agentAnswerProperties = {
  session_id: Type.Optional(
    Type.String({ description: "Send it in the next request to keep the state of the tools." }),
  ),
  agentic_tool_calls: Type.Optional(Type.Array(AgenticToolCall)),
  files: Type.Optional(Type.Array(FileBody)),
  context_management: Type.Optional(ContextManagement),
  cut_files: Type.Optional(
    Type.Array(CutFileBody, { description: "Attached files that the model did not get whole." }),
  ),
};
const AgentAnswer = Type.Object(agentAnswerProperties);

/** Folds agent events into the fields of a body. */
export class AgentFold {
  private sessionId: string | undefined;
  private readonly calls: AgenticToolCall[] = [];
  private readonly produced: FileObject[] = [];
  private cutFiles: readonly CutFile[] = [];
  private readonly edited: AppliedEdit[] = [];

  add(event: AgentEvent): void {
    switch (event.type) {
      case "session":
        this.sessionId = event.sessionId;
        return;
      case "input_cut":
        this.cutFiles = event.files;
        return;
      case "context_edited":
        this.edited.push(...event.edits);
        return;
      case "tool_complete":
        this.calls.push(callBody(event));
        return;
      case "file_produced":
        this.produced.push(event.file);
        return;
      case "tool_calling":
      case "tool_progress":
      case "approval_required": // only sent to streaming clients
        return;
    }
  }

  /** Session id, if the run has a session. */
  session(): string | undefined {
    return this.sessionId;
  }

  /** Files of the body, the last FILES_IN_BODY_MAX: what a later call made is what was wanted. The rest stay in the file store. */
  files(): FileObject[] {
    return this.produced.slice(-FILES_IN_BODY_MAX);
  }

  /** Edits of the conversation. */
  get edits(): readonly AppliedEdit[] {
    return this.edited;
  }

  /** The fields of cut files and of edits, if there are some. */
  cut(): Pick<Static<typeof AgentAnswer>, "cut_files" | "context_management"> {
    return {
      ...(this.cutFiles.length === 0 ? {} : { cut_files: cutFilesBody(this.cutFiles) }),
      ...(this.edited.length === 0 ? {} : { context_management: contextManagementBody(this.edited) }),
    };
  }

  /** The fields that are not empty. */
  body(): Static<typeof AgentAnswer> {
    const files = this.files();
    return {
      ...defined({ session_id: this.sessionId }),
      ...(this.calls.length === 0 ? {} : { agentic_tool_calls: this.calls }),
      ...(files.length === 0 ? {} : { files }),
      ...this.cut(),
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
