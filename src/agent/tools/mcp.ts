// Adapts tools of MCP servers to server tools. Every conversation gets those of the configuration; the web interface selects.

import type { ActionReach, McpSelection, ToolProgress } from "../../core/agent.ts";
import { Type } from "@sinclair/typebox";
import type { Caller } from "../../core/caller.ts";
import { defined } from "../../core/defined.ts";
import { isObject } from "../../core/json.ts";
import { MCP_BRIEF_CHARS, MCP_INSTRUCTIONS_CHARS } from "../limits.ts";
import type { MediaPart } from "../../core/message.ts";
import { brief, shorten } from "../../core/shorten.ts";
import type { ProducedFile } from "../../exec/types.ts";
import type { McpAssets, McpPart, McpResult, McpTool } from "../../mcp/types.ts";
import { type ServerTool, type ToolRequest, ToolFailure, type ToolOutcome, type Toolset } from "../tool.ts";
import { builtIn, isBrief, textCharsMax } from "./built-in.ts";

/**
 * `tools` returns the tools of the connected servers that a request has, `assets` their instructions and resources, which models with
 * a small context do without.
 */
export function mcpToolset(
  tools: (selection: McpSelection | undefined, caller: Caller) => readonly McpTool[],
  assets: (selection: McpSelection | undefined, caller: Caller) => readonly McpAssets[] = () => [],
): Toolset {
  return (request) => {
    const { agent, caller } = request;
    const { mcp } = agent;
    const servers = isBrief(request) ? [] : assets(mcp, caller);
    const systemText = instructionsOf(servers);
    return {
      tools: [
        ...tools(mcp, caller).map((tool) => serverTool(tool, request)),
        ...resourceTools(servers, request),
      ],
      ...defined({ systemText }),
    };
  };
}

/** Instructions of the servers, each under the name that begins the names of its tools. */
function instructionsOf(servers: readonly McpAssets[]): string | undefined {
  const texts = servers.flatMap(({ label, instructions = "" }) => {
    const text = instructions.toWellFormed().trim();
    return text === "" ? [] : [`Tools of ${label}: ${shorten(text, MCP_INSTRUCTIONS_CHARS)}`];
  });
  return texts.length === 0 ? undefined : texts.join("\n\n");
}

/** A tool that lists and reads the servers' resources; none where no server has any. */
function resourceTools(servers: readonly McpAssets[], request: ToolRequest): readonly ServerTool[] {
  const withResources = servers.filter(({ resources }) => resources !== undefined);
  if (withResources.length === 0) return [];
  const names = withResources.map(({ label }) => label);
  const Arguments = Type.Object(
    {
      server: Type.String({ description: `One of: ${names.join(", ")}.` }),
      uri: Type.Optional(Type.String({ description: "Address of the resource to read." })),
    },
    { additionalProperties: false },
  );
  const tool = builtIn({
    name: "svc_read_resource",
    description:
      "Reads a resource of an MCP server, such as a file or a record that it offers. Without uri it lists the server's resources; an address with braces is a template whose variables you fill in.",
    parameters: Arguments,
    action: { kind: "custom", label: "MCP resource", reach: reachOf(withResources) },
    isHelper: true,
    isIndependent: true,
    calling: (_args, text) => ({ tool_type: "custom", arguments: text }),
    run: async ({ server, uri }, _context, signal) => {
      const resources = withResources.find(({ label }) => label === server)?.resources;
      if (resources === undefined) throw new ToolFailure(`server must be one of: ${names.join(", ")}`);
      const result = uri === undefined ? await resources.list(signal) : await resources.read(uri, signal);
      return outcomeOf(result, "resource", textCharsMax(request));
    },
  });
  return [{ ...tool, action: { ...tool.action, source: "mcp" } }];
}

/** What a call to one of the servers reaches, as far as svc knows: an MCP server runs outside the sandbox. */
function reachOf(servers: readonly Pick<McpTool, "host">[]): ActionReach {
  if (servers.some(({ host }) => host === undefined)) {
    const whatever = "whatever its MCP server can reach: it runs outside the sandbox";
    return { files: whatever, network: whatever };
  }
  const host = [...new Set(servers.map((server) => server.host))].join(" or ");
  return {
    files: `none of this machine through svc; what the MCP server at ${host} can reach`,
    network: `the arguments are sent to ${host}, which may reach others`,
  };
}

function serverTool(tool: McpTool, request: ToolRequest): ServerTool {
  const { name, description, parameters, strict, isDeferred } = tool;
  const [firstLine = ""] = description.trim().split("\n");
  const shown = isBrief(request) ? brief(firstLine, MCP_BRIEF_CHARS) : description; // for models with a small context
  return {
    spec: {
      name,
      ...(shown === "" ? {} : { description: shown }),
      parameters,
      strict,
      ...(isDeferred === true ? { deferred: true } : {}),
    },
    isHelper: true, // not requested, so it is dropped if the request excludes tools
    action: { source: "mcp", kind: "custom", label: name, reach: reachOf([tool]) },
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
  return isObject(args) ? undefined : "the arguments must be a JSON object";
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
