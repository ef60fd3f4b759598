// Dependencies of the HTTP layer, provided by the composition root. Routes see nothing else of the program.

import type { Adapters } from "../core/adapter.ts";
import type { AnswerApproval, Converse } from "../core/agent.ts";
import type { ForCaller } from "../core/caller.ts";
import type { Compat } from "../core/compat.ts";
import type { Files } from "../core/files.ts";
import type { Draw, ImageStore } from "../core/image.ts";
import type { History } from "../core/history.ts";
import type { ModelAliases } from "./model-alias.ts";
import type { ModelControl, ModelInfo, ToolCounts, TuneModel } from "../core/model-info.ts";
import type { PageMcp } from "../core/page-mcp.ts";
import type { Requantizing } from "../core/requantize.ts";
import type { Quotas } from "../core/quota.ts";
import type { Tracer } from "../core/tracing.ts";
import type { ReadUsage } from "../core/usage.ts";
import type { Embed, Generate, Rank } from "../core/run.ts";
import type { Sessions } from "../core/sessions.ts";
import type { Speak } from "../core/speech.ts";
import type { Skills } from "../core/skills.ts";
import type { BackgroundResponses } from "../responses/background.ts";
import type { ResponseStore } from "../responses/store.ts";
import type { DoctorReport, SystemInfo } from "../core/system.ts";
import type { TakePayload } from "./payloads.ts";
import type { Day, HttpMetrics, ObservedRequest } from "../core/telemetry.ts";
import type { Admission } from "./admission.ts";
import type { ApiKeys } from "./api-keys.ts";
import type { BodyPace } from "./body-pace.ts";
import type { LogLine } from "./errors.ts";
import type { HubAccess } from "./hub.ts";
import type { HostPolicy } from "./hooks/hosts.ts";
import type { OriginPolicy } from "./hooks/origins.ts";
import type { IsToolPeer } from "./hooks/tool-peers.ts";

/** Looks at the machine. */
export interface System {
  info(): Promise<SystemInfo>;
  doctor(): Promise<DoctorReport>;
}

/** How requests are treated that the interface refuses although clients send them. */
export type CompatOptions = Pick<Compat, "mode" | "hosted">;

/** MCP servers in the web interface, and which clients may add and use servers of their own. */
export interface McpAccess {
  readonly servers: PageMcp;
  /** `peer`: address of the other end of the connection; undefined without one. */
  readonly isAllowed: (peer: string | undefined, headers: Headers) => boolean;
  /** Which clients may read the logs of servers, which can quote secrets; absent: none. */
  readonly mayReadLogs?: (peer: string | undefined, headers: Headers) => boolean;
}

export interface HttpDeps {
  /** Starts a run on the model that the request names. */
  readonly generate: Generate;
  /** Answers a conversation: what chat-type dialects ask for. */
  readonly converse: Converse;
  /** Absent where nothing that tools run can reach this server. */
  readonly isToolPeer?: IsToolPeer;
  /** Takes a person's word on an action that a run wants done. */
  readonly answerApproval: AnswerApproval;
  /** Makes vectors with the model that the request names. */
  readonly embed: Embed;
  /** Scores documents with the model that the request names. */
  readonly rank: Rank;
  /** Generates images with the model that the request names. */
  readonly draw: Draw;
  /** Keeps those that are answered as files. */
  readonly imageFiles: ImageStore;
  /** Speaks with the model that the request names. */
  readonly speak: Speak;
  readonly adapters: Adapters;
  readonly requantizing: Requantizing;
  readonly files: ForCaller<Files>;
  readonly skills: Skills;
  readonly sessions: ForCaller<Pick<Sessions, "get" | "put" | "delete" | "keyOf">>;
  /** Responses that are kept. */
  readonly responses: ForCaller<ResponseStore>;
  /** Responses that go on without their client. */
  readonly background: BackgroundResponses;
  /** Served models; the default model comes first. */
  readonly models: () => readonly ModelInfo[];
  /** Loads and unloads them. */
  readonly control: ModelControl;
  /** Finds the best settings for one of them. */
  readonly tune: TuneModel;
  /** Models of the hub; absent where no client may change the served models. */
  readonly hub?: HubAccess;
  /** MCP servers in the web interface. */
  readonly mcp: McpAccess;
  /** The server's own tools; absent where none are configured. */
  readonly toolCounts?: () => ToolCounts;
  /** Names the build, as `system_fingerprint` in answers. */
  readonly fingerprint: string;
  readonly log: LogLine;
  /** Whether the web interface is served. Default: yes. */
  readonly ui?: boolean;
  /** Silence on a stream after which a comment is sent, milliseconds. Default: limits.ts, KEEP_ALIVE_MS. */
  readonly keepAliveMs?: number;
  /** How slowly bodies may come. Default: limits.ts, BODY_STALL_MS and BODY_BYTES_PER_SEC_MIN. */
  readonly bodyPace?: BodyPace;
  /** True once the server stops: running answers finish, new ones are refused. */
  readonly draining?: () => boolean;
  readonly system: System;
  /** Absent: switched off. */
  readonly metrics?: HttpMetrics;
  /** Where the web interface keeps conversations; absent: in the browser. */
  readonly history?: ForCaller<History>;
  /** What the web interface shows of the time before it was opened. */
  readonly day?: Day;
  /** Takes what requests and answers said. Absent: switched off. */
  readonly payloads?: TakePayload;
  /** Takes each answered request. Absent: switched off. */
  readonly accessLog?: (request: ObservedRequest) => void;
  /** Whether answers carry x-request-id. Default: true. */
  readonly requestIdHeader?: boolean;
  /** Which web pages may use the server. Absent: all. */
  readonly originPolicy?: OriginPolicy;
  /** Under which host names the server answers. Absent: all. */
  readonly hostPolicy?: HostPolicy;
  /** Other names of models. Absent: none. */
  readonly aliases?: ModelAliases;
  /** Absent: `strict`. */
  readonly compat?: CompatOptions;
  /** Keys of which a client must send one. Absent: no key is needed. */
  readonly apiKeys?: ApiKeys;
  /** Follows requests to models; absent: none are traced. */
  readonly tracer?: Tracer;
  /** Limits of keys; absent: there are none. */
  readonly quotas?: Quotas;
  /** Reads what callers have used; absent: nothing is counted. */
  readonly usage?: ReadUsage;
  /** Decides which requests are let in, and on whose behalf. Absent: all are, as one client without a key. */
  readonly admission?: Admission;
}
