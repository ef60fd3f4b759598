// Chat-type requests beyond one generation: input files, and the actions of the server between the model's words. A
// dialect translates its body into a Conversation; its Converse yields the events of a run with agent events between
// them. The engine knows nothing of this.

import type { Caller } from "./caller.ts";
import type { HostedTool } from "./compat.ts";
import type { ContentPart, Message, Modality, ToolSpec } from "./message.ts";
import type { ChatPrompt, RunEvent, RunRequest } from "./run.ts";
import type { ModelTarget } from "./target.ts";

/** Source of an input file. */
export type FileSource =
  | { readonly type: "stored"; readonly id: string }
  /** Base64 or a data URL. */
  | { readonly type: "inline"; readonly data: string; readonly filename?: string }
  | { readonly type: "remote"; readonly url: string };

/** A file in a user message. It becomes text before the engine sees the message. */
export interface FilePart {
  readonly type: "file";
  readonly source: FileSource;
  /** Its path in the request, for errors: `messages[2].content[0]`. */
  readonly param: string;
  /** Of a text the model gets all of it in its place, not a preview in the system text. */
  readonly isWhole?: boolean;
  /** Text of a document, where a client of this process has read it. */
  readonly text?: string;
}

/** An attached file of which the model got a part. */
export type CutFile = CutText | CutMedium;

interface CutText {
  readonly name: string;
  /** Characters that it got. */
  readonly shown: number;
  /** Size of the file. */
  readonly bytes: number;
}

/** What a medium was cut by. */
export type CutUnit = "frames" | "pages" | "seconds";

export interface CutMedium {
  /** Field of the request. */
  readonly name: string;
  readonly unit: CutUnit;
  /** Of these, the model got `shown`. */
  readonly shown: number;
  readonly of: number;
}

/** What requests may hold. A video becomes images. */
export type InputModality = Modality | "video";

/** An image, audio or a video as its sender names it. It becomes MediaParts before the engine sees the message. */
export interface NamedMedia {
  readonly type: "media";
  readonly modality: InputModality;
  readonly source: FileSource;
  /** Its path in the request, for errors: `messages[2].content[0]`. */
  readonly param: string;
}

export type InputPart = ContentPart | FilePart | NamedMedia;
export type InputMessage = Message<InputPart>;

/** `ask` waits for an approval before each action, `deny` tells the model no. */
export type Permission = "auto" | "ask" | "deny";

/** Scope of "approve for the session": everything, the same tool, or the same tool with the same arguments. */
export type ApprovalScope = "session" | "tool" | "action";

/** A skill mounted into the shell's folder. */
export interface SkillReference {
  readonly skillId: string;
  readonly version: number | "latest";
}

/** An output file that the answer must produce. */
export interface RequestedFile {
  readonly name: string;
  /** As a file name's extension; taken from the name where absent. */
  readonly format?: string;
  readonly description?: string;
}

export interface UserLocation {
  readonly city?: string;
  readonly region?: string;
  readonly country?: string;
  readonly timezone?: string;
}

/** How the model may search the web. */
export interface WebSearch {
  readonly contextSize: "low" | "medium" | "high";
  readonly unlimitedBudget: boolean;
  readonly location?: UserLocation;
  /** Hosts with their subdomains; empty allows all. */
  readonly allowedDomains: readonly string[];
  readonly blockedDomains: readonly string[];
  /** Replace the descriptions of the two tools for the model. */
  readonly searchDescription?: string;
  readonly extractDescription?: string;
  /** Searches that this request may make. */
  readonly usesMax?: number;
}

/** The MCP servers of a request. */
export interface McpSelection {
  /** Ids of servers whose tools it does without. */
  readonly off: readonly string[];
  /** Whether it has those that its caller added in the web interface. */
  readonly own: boolean;
}

/** How a request's model finds tools that its prompt does not show. */
export interface ToolSearch {
  /** Name of the search. */
  readonly name: string;
  /** The model writes words, or a regular expression. */
  readonly form: "words" | "regex";
  /** The client executes it. */
  readonly isClients?: true;
}

/** Changes of a request's conversation before the model sees it. */
export interface ContextEdits {
  /** Without old results of tools. */
  readonly clearToolUses?: {
    /** Tokens of the prompt, or calls, above which this is done. */
    readonly trigger: { readonly tokens: number; readonly uses?: number };
    /** The last calls, which stay. */
    readonly keep: number;
    /** Tokens that this must save. */
    readonly atLeast?: number;
    readonly exclude: readonly string[];
    /** Without the arguments of these calls, too. */
    readonly inputs: boolean;
  };
  /** Without the reasoning of all but the last turns. */
  readonly clearThinking?: { readonly keep: number };
  /** With a summary of old turns above `tokens`, or a share of the context. */
  readonly compact?: {
    readonly tokens?: number;
    readonly share?: number;
    /** What the summary must have. */
    readonly instructions?: string;
    /** The request is not answered: after a compaction, or at all, however short it is. */
    readonly pauses?: "after" | "always";
    /** Name of the model that writes it; absent: the one that answers. */
    readonly model?: string;
  };
}

/** Server-side actions that a request permits. */
export interface AgentRequest {
  /** Continues or begins the session of this name. */
  readonly sessionId?: string;
  /** Tightens the server's own setting. */
  readonly permission?: Permission;
  /** Tool rounds of this request; 0 hides all server tools. Absent: the server's setting. */
  readonly maxToolRounds?: number;
  /** Path of the request's server tools, for errors: `tools[2]`. */
  readonly fields?: Readonly<Partial<Record<HostedTool, string>>>;
  readonly toolSearch?: ToolSearch;
  readonly edits?: ContextEdits;
  readonly python: boolean;
  readonly shell?: { readonly skills: readonly SkillReference[] };
  readonly webSearch?: WebSearch;
  readonly files: readonly RequestedFile[];
  /** Which MCP servers it has tools of. Absent: all of the configuration. */
  readonly mcp?: McpSelection;
  /** Whether a client reads events during the run, so that it can answer an approval. */
  readonly interactive: boolean;
}

/** A chat-type request as its dialect understood it. */
export interface Conversation {
  readonly run: RunRequest<ChatPrompt<InputMessage>>;
  readonly agent: AgentRequest;
}

/** A conversation whose model and adapter are resolved. */
export interface TargetedConversation extends Conversation {
  readonly target: ModelTarget;
}

/** Which tool made a file, and when: round and turn count from 0 for what came with a request. */
export interface SourceMeta {
  readonly tool: string;
  readonly round: number;
  readonly turn: number;
}

/** A stored file in events and bodies. Spec: File object. */
export interface FileObject {
  readonly id: string;
  readonly name: string;
  /** As a file name's extension: `csv`. */
  readonly format?: string;
  readonly mime_type?: string;
  readonly bytes: number;
  /** Unix seconds. */
  readonly created_at: number;
  /** `agent_output`, `user_data`, or another word that its uploader used. */
  readonly purpose: string;
  readonly source: SourceMeta;
  /** One of the bodies, absent above the inline limit and for a file that was not made. */
  readonly text?: string;
  readonly preview?: string;
  readonly data_base64?: string;
  /** Why there is no such file. */
  readonly code?: string;
  readonly message?: string;
}

/** Arguments of a tool call and, once complete, its result: `data` of a progress event. */
export type ToolProgress =
  | {
      readonly tool_type: "code_execution";
      readonly code?: string;
      readonly stdout?: string;
      readonly stderr?: string;
      readonly exception?: string;
      /** Value of the last expression, as its repr, and its type. */
      readonly result?: string;
      readonly result_type?: string;
      readonly images_base64?: readonly string[];
      readonly video_frames_base64?: readonly string[];
      readonly video_frame_count?: number;
      readonly working_directory?: string;
      readonly execution_time_ms?: number;
      readonly files_not_stored?: number;
      readonly folders_not_stored?: readonly string[];
    }
  | {
      readonly tool_type: "shell";
      readonly commands?: readonly string[];
      readonly stdout?: string;
      readonly stderr?: string;
      readonly exit_code?: number | null;
      readonly status?: string;
      readonly working_directory?: string;
      readonly timed_out?: boolean;
      readonly files_not_stored?: number;
      readonly folders_not_stored?: readonly string[];
    }
  | {
      readonly tool_type: "web_search";
      readonly query?: string;
      readonly results_count?: number;
      readonly sources?: readonly string[];
      /** Why nothing was found. */
      readonly error?: string;
    }
  | {
      readonly tool_type: "custom";
      readonly arguments?: string;
      readonly content?: string;
      /** Tools that a search has found. */
      readonly tools?: readonly FoundTool[];
    };

/** A tool that a search has found. */
export type FoundTool = Pick<ToolSpec, "name" | "description" | "parameters">;

/** A call in events. */
export interface ToolCallAt {
  /** From 1. */
  readonly round: number;
  readonly callId: string;
  readonly toolName: string;
  /** As the model wrote them: JSON text. */
  readonly arguments: string;
}

export type AgentEvent =
  /** The session of this run; comes once, before anything the model says. */
  | { readonly type: "session"; readonly sessionId: string }
  /** Attached files that the model does not get whole; comes before anything it says. */
  | { readonly type: "input_cut"; readonly files: readonly CutFile[] }
  | Extract<RunEvent, { type: "context_edited" }>
  | ({ readonly type: "tool_calling"; readonly data: ToolProgress } & ToolCallAt)
  /** What a running tool says of its progress. */
  | ({ readonly type: "tool_progress"; readonly message: string } & ToolCallAt)
  | ({
      readonly type: "tool_complete";
      readonly data: ToolProgress;
      /** A short account for people and logs. */
      readonly resultContent: string;
      /** PNG images, base64. */
      readonly images: readonly string[];
      readonly fileIds: readonly string[];
    } & ToolCallAt)
  | {
      readonly type: "approval_required";
      readonly approvalId: string;
      readonly sessionId: string;
      readonly round: number;
      readonly tool: {
        readonly source: string;
        readonly kind: string;
        readonly label: string;
        readonly reach?: ActionReach;
      };
      /** Parsed, or the text where it is no JSON. */
      readonly arguments: unknown;
    }
  | { readonly type: "file_produced"; readonly file: FileObject };

/** What an action can reach at most, for the user who decides on it. */
export interface ActionReach {
  readonly files: string;
  readonly network: string;
}

/** Decision of a user on an action. `message` is for the model. */
export type Decision =
  | { readonly approved: true; readonly remember: boolean }
  | { readonly approved: false; readonly message?: string };

/**
 * Answers an action that waits for approval. `queued` where the run has not begun to wait; `not_found` for an id that is
 * unknown, answered or expired.
 */
export type AnswerApproval = (
  approvalId: string,
  decision: Decision,
  caller: Caller,
) => "resolved" | "queued" | "not_found";

/** Events of an answer to a conversation, in the order of a run. */
export type AnswerEvent = RunEvent | AgentEvent;

/** Answers a conversation: files become text, server tools run in a loop. As `Generate` in all else. */
export type Converse<C extends Conversation = Conversation> = (
  conversation: C,
  signal: AbortSignal,
  caller: Caller,
) => AsyncIterable<AnswerEvent>;
