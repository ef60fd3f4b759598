// Tools that list and read stored files: attachments and files that tools produced.

import { Type } from "@sinclair/typebox";
import type { ForCaller } from "../../core/caller.ts";
import { defined } from "../../core/defined.ts";
import type { Files, StoredFile } from "../../core/files.ts";
import type { ServerTool, ToolRequest, ToolOutcome, Toolset } from "../tool.ts";
import { builtIn, isBrief, NO_ARGUMENTS, textCharsMax } from "./built-in.ts";

/**
 * Tools for requests that can have files, attached or produced by a tool, and that ask for the server to act: a plain chat with a
 * document gets no tools beside its own.
 */
export function fileToolset(filesOf: ForCaller<Files>): Toolset {
  return (request) => {
    const { agent, hasInputs, caller } = request;
    const files = filesOf(caller);
    const asks = agent.sessionId !== undefined || (agent.maxToolRounds ?? 0) > 0;
    const makes = agent.python || agent.shell !== undefined;
    // A model with a small context gets previews only: tool descriptions would take too much of it.
    const isUseful = !isBrief(request) && (makes || (asks && hasInputs));
    return { tools: isUseful ? [readTool(files, request), listTool(files)] : [] };
  };
}

/** Name of the tool that reads files. */
export const READ_TOOL = "svc_read_file";

const ACTION = {
  kind: "file",
  label: "File access",
  reach: { files: "reads files of this conversation", network: "none" },
} as const;

const Slice = Type.Object(
  {
    file_id: Type.String(),
    start: Type.Optional(Type.Integer({ minimum: 0, description: "First character, from 0." })),
    end: Type.Optional(Type.Integer({ minimum: 0, description: "After the last character." })),
  },
  { additionalProperties: false },
);

function readTool(files: Files, request: ToolRequest): ServerTool {
  const charsMax = textCharsMax(request);
  return builtIn({
    name: READ_TOOL,
    description: [
      "Reads a text file from the store by its id. It takes ids, not paths of the working directory.",
      `A call returns at most ${charsMax} characters; start and end select which. Binary files cannot be read.`,
    ].join("\n"),
    parameters: Slice,
    action: ACTION,
    isHelper: true,
    calling: (_args, text) => ({ tool_type: "custom", arguments: text }),
    run: async (args, { sessionId }) => {
      const file = files.get(args.file_id);
      if (file === undefined || !isReachable(file, sessionId)) {
        return jsonOutcome({ file_id: args.file_id, error: "file not found, or expired" });
      }
      return jsonOutcome(await slice(files, file, args, charsMax));
    },
  });
}

function listTool(files: Files): ServerTool {
  return builtIn({
    name: "svc_list_files",
    description:
      "Lists the files of this conversation in the store, oldest first: id, name, format, bytes, purpose, source.",
    parameters: NO_ARGUMENTS,
    action: ACTION,
    isHelper: true,
    calling: (_args, text) => ({ tool_type: "custom", arguments: text }),
    run: async (_args, { sessionId }) => jsonOutcome({ files: files.list(sessionId).map(listed) }),
  });
}

/** A session can read its own files and those without a session. */
function isReachable({ sessions }: StoredFile, sessionId: string): boolean {
  return sessions.length === 0 || sessions.includes(sessionId);
}

function listed({ id, name, format, bytes, purpose, source }: StoredFile) {
  const { tool, round, turn } = source;
  return { id, name, format, bytes, purpose, source: tool, round, turn };
}

function jsonOutcome(result: object): ToolOutcome {
  const text = JSON.stringify(result);
  return { text, data: { tool_type: "custom", content: text } };
}

interface Range {
  readonly start?: number | undefined;
  readonly end?: number | undefined;
}

async function slice(files: Files, file: StoredFile, range: Range, charsMax: number): Promise<object> {
  const { id, name, format, failure } = file;
  const known = { file_id: id, name, ...defined({ format }) };
  if (failure !== undefined) return { ...known, code: failure.code, error: failure.message };
  if (!file.isText) return { ...known, error: "the file is binary and cannot be read as text" };
  const body = await files
    .body(id)
    ?.text()
    .catch(() => undefined); // it expired meanwhile
  if (body === undefined) return { ...known, error: "the content of the file was evicted" };
  // Positions count characters, not UTF-16 units.
  const characters = /[\uD800-\uDFFF]/.test(body) ? Array.from(body) : undefined;
  const total = characters?.length ?? body.length;
  const start = Math.min(range.start ?? 0, total);
  const end = Math.max(start, Math.min(range.end ?? total, total, start + charsMax));
  const text = characters?.slice(start, end).join("") ?? body.slice(start, end);
  return { ...known, start, end, total_chars: total, max_slice_chars: charsMax, text };
}
