// Adapts tools of MCP servers to server tools. Every conversation gets those of the configuration; the web interface selects.

import type { ActionReach, McpSelection, ToolProgress } from "../../core/agent.ts";
import { MCP_BRIEF_CHARS } from "../limits.ts";
import type { MediaPart } from "../../core/message.ts";
import { shorten } from "../../core/shorten.ts";
import type { ProducedFile } from "../../exec/types.ts";
import type { McpPart, McpResult, McpTool } from "../../mcp/types.ts";
import { type ServerTool, type ToolRequest, ToolFailure, type ToolOutcome, type Toolset } from "../tool.ts";
import { isBrief, textCharsMax } from "./built-in.ts";

/** `tools` returns the tools of the connected servers that a request has. */
export function mcpToolset(tools: (selection: McpSelection | undefined) => readonly McpTool[]): Toolset {
  return (request) => ({ tools: tools(request.agent.mcp).map((tool) => serverTool(tool, request)) });
}

/** What a call reaches, as far as svc knows: an MCP server runs outside the sandbox. */
function reachOf({ host }: McpTool): ActionReach {
  if (host === undefined) {
    const whatever = "whatever its MCP server can reach: it runs outside the sandbox";
    return { files: whatever, network: whatever };
  }
  return {
    files: `none of this machine through svc; what the MCP server at ${host} can reach`,
    network: `the arguments are sent to ${host}, which may reach others`,
  };
}

function serverTool(tool: McpTool, request: ToolRequest): ServerTool {
  const { name, description, parameters, strict } = tool;
  const shown = isBrief(request) ? brief(description) : description;
  return {
    spec: { name, ...(shown === "" ? {} : { description: shown }), parameters, strict },
    isHelper: true, // not requested, so it is dropped if the request excludes tools
    action: { source: "mcp", kind: "custom", label: name, reach: reachOf(tool) },
    calling: (args): ToolProgress => ({
      tool_type: "custom",
      arguments: typeof args === "string" ? args : JSON.stringify(args),
    }),
    fault: faultOf,
    isIndependent: true,
    async run(args, { report }, signal) {
      // The loop calls `fault` first, so the arguments are an object.
      const result = await tool.call(args as Readonly<Record<string, unknown>>, signal, report);
      return outcomeOf(result, name, textCharsMax(request));
    },
  };
}

/** The MCP server validates the arguments; here only those that cannot be sent are refused. */
function faultOf(args: unknown): string | undefined {
  if (typeof args === "string") return "the arguments are not valid JSON";
  const isObject = typeof args === "object" && args !== null && !Array.isArray(args);
  return isObject ? undefined : "the arguments must be a JSON object";
}

/** The first line, for models with a small context. */
function brief(description: string): string {
  const [line = ""] = description.trim().split("\n");
  return line.length <= MCP_BRIEF_CHARS ? line : `${line.slice(0, MCP_BRIEF_CHARS)}…`;
}

/** Throws ToolFailure with the tool's message if it reports an error. */
function outcomeOf({ isError, parts }: McpResult, tool: string, charsMax: number): ToolOutcome {
  const whole = parts.map(textOf).join("\n");
  const text = shorten(whole, charsMax);
  if (isError) throw new ToolFailure(text === "" ? "the tool failed without giving a reason" : text);
  const images = parts.flatMap((part) => (isPng(part) ? [Buffer.from(part.data).toString("base64")] : []));
  const files = parts.flatMap((part, index) => (isPng(part) ? [] : fileOf(part, `${tool}-${index + 1}`)));
  const media = parts.flatMap(mediumOf);
  return {
    text,
    data: { tool_type: "custom", content: whole },
    ...(images.length === 0 ? {} : { images }),
    ...(media.length === 0 ? {} : { media }),
    ...(files.length === 0 ? {} : { files }),
  };
}

type BinaryPart = Extract<McpPart, { type: "binary" }>;

const KIND = { image: "Image", audio: "Audio", resource: "Resource" } as const;

function textOf(part: McpPart): string {
  if (part.type === "text") return part.text;
  return `[${KIND[part.kind]}: ${part.name ?? part.mimeType}]`;
}

/** Events and bodies carry images as PNG; other formats become files. */
function isPng(part: McpPart): part is BinaryPart {
  return part.type === "binary" && part.kind === "image" && part.mimeType === "image/png";
}

/** Media for the model, in any format. */
function mediumOf(part: McpPart): readonly MediaPart[] {
  if (part.type === "text" || part.kind === "resource") return [];
  return [{ type: part.kind, data: Buffer.from(part.data).toString("base64") }];
}

function fileOf(part: McpPart, stem: string): readonly ProducedFile[] {
  if (part.type === "text") return [];
  const { mimeType, data, name } = part;
  const ending = /^[\w-]+\/(?:x-)?([a-z0-9]+)/i.exec(mimeType)?.[1]?.toLowerCase() ?? "bin";
  const whole = name ?? `${stem}.${ending === "octet" ? "bin" : ending}`;
  const dot = whole.lastIndexOf(".");
  const format = dot < 0 ? "" : whole.slice(dot + 1).toLowerCase();
  return [{ name: whole, format, mimeType, content: data, isText: false }];
}
