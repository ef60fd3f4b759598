// Agent fields of a request: session, permissions, rounds, requested files and the hosted code interpreter.

import { type Static, Type } from "@sinclair/typebox";
import type { AgentRequest, Permission, RequestedFile } from "../../core/agent.ts";
import { defined } from "../../core/defined.ts";
import { ServiceError } from "../../core/error.ts";
import { isObject } from "../../core/json.ts";
import { OPEN, orNull } from "../../core/schema-fields.ts";
import { REQUESTED_FILES_MAX, SESSION_ID_CHARS_MAX } from "./limits.ts";
import { compactAtOf, compactProperties } from "./compaction.ts";
import { isPresent, describeValue } from "./check.ts";

const Permission = Type.Union([Type.Literal("auto"), Type.Literal("ask"), Type.Literal("deny")], {
  description: "Restricts the server's permission setting for server-executed tools.",
});

const RequestedFile = Type.Object(
  {
    name: Type.String({ minLength: 1, description: "File name." }),
    format: orNull(Type.String({ description: "`png`, `csv`, …; default: the extension of the name." })),
    description: orNull(Type.String({ description: "Shown to the model." })),
  },
  { $id: "RequestedFile", description: "A file that the server must produce.", ...OPEN },
);

/** The field of requested output files. */
export const requestedFilesProperties = {
  files: orNull(
    Type.Array(RequestedFile, { maxItems: REQUESTED_FILES_MAX, description: "Output files to produce." }),
  ),
};

/** Properties to spread into the schemas of chat and messages. */
export const agentProperties = {
  ...compactProperties,
  ...requestedFilesProperties,
  session_id: orNull(
    Type.String({
      minLength: 1,
      maxLength: SESSION_ID_CHARS_MAX,
      description: "Continues the session with this id, or creates it.",
    }),
  ),
  agent_permission: orNull(Permission),
  code_execution_permission: orNull(Permission),
  max_tool_rounds: orNull(
    Type.Integer({
      minimum: 0,
      description: "Cap on server-side tool rounds; 0 disables the server's tools.",
    }),
  ),
};

const AgentFields = Type.Object(agentProperties);

/** The agent request of a checked body; each dialect adds its hosted tools. */
export function agentOf(body: Static<typeof AgentFields>, interactive: boolean): AgentRequest {
  refuseUnansweredAsk(body, interactive);
  const permission = permissionOf(body);
  return {
    ...(isPresent(body.session_id) ? { sessionId: body.session_id } : {}),
    ...defined({ permission }),
    ...compactAtOf(body),
    ...(isPresent(body.max_tool_rounds) ? { maxToolRounds: body.max_tool_rounds } : {}),
    python: false,
    files: requestedFilesOf(body.files),
    interactive,
  };
}

/** The two fields are synonyms; `agent_permission` takes precedence. */
function permissionOf(body: Static<typeof AgentFields>): Permission | undefined {
  return body.agent_permission ?? body.code_execution_permission ?? undefined;
}

/** Approval requests are stream events, so permission "ask" requires a streaming request. */
function refuseUnansweredAsk(body: Static<typeof AgentFields>, interactive: boolean): void {
  if (interactive) return;
  const names = ["agent_permission", "code_execution_permission"] as const;
  const param = names.find((key) => body[key] === "ask");
  if (param === undefined) return;
  const message = `${param} "ask" requires stream: true, because approval requests are stream events`;
  throw new ServiceError("contradictory_fields", message, { param });
}

/** Requested files of a checked body. */
export function requestedFilesOf(
  files: readonly Static<typeof RequestedFile>[] | null | undefined,
): readonly RequestedFile[] {
  return (files ?? []).map(({ name, format, description }) => ({
    name,
    ...(isPresent(format) ? { format } : {}),
    ...(isPresent(description) ? { description } : {}),
  }));
}

/** Hosted Python tool of chat completions and Responses. */
export const CodeInterpreterTool = Type.Object(
  {
    type: Type.Literal("code_interpreter"),
    container: orNull(
      Type.Object(
        { type: Type.Literal("auto") },
        {
          $id: "HostedCodeInterpreterAutoContainer",
          description: "A container that the server makes.",
          ...OPEN,
        },
      ),
    ),
  },
  { $id: "HostedCodeInterpreterTool", description: "Lets the model run Python on the server.", ...OPEN },
);

/** Throws `unsupported_value` for containers that exist only in a vendor's cloud. Runs before the schema check. */
export function refuseForeignContainers(tools: unknown): void {
  if (!Array.isArray(tools)) return;
  for (const [index, tool] of tools.entries()) {
    if (!isObject(tool) || tool["type"] !== "code_interpreter") continue;
    refuseForeignContainer(tool["container"], `tools[${index}].container`);
  }
}

function refuseForeignContainer(container: unknown, path: string): void {
  if (typeof container === "string") {
    const message = `${path} must be {"type": "auto"}, container ids are not supported; got ${describeValue(container)}`;
    throw new ServiceError("unsupported_value", message, { param: path });
  }
  if (!isObject(container)) return;
  const key = ["file_ids", "memory_limit"].find((name) => isPresent(container[name]));
  if (key === undefined) return;
  const param = `${path}.${key}`;
  throw new ServiceError("unsupported_value", `${param} is not supported; omit it`, { param });
}
