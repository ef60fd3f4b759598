// Converts a tool result of the MCP protocol. Spec: MCP, client behaviour.

import type { CallToolResult, ContentBlock } from "@modelcontextprotocol/client";
import { unreachable } from "../core/assert.ts";
import type { McpPart, McpResult } from "./types.ts";

/** Converts a result; without content, its structured content is used as text. */
export function resultOf({ content, structuredContent, isError }: CallToolResult): McpResult {
  const parts = content.map(partOf);
  if (parts.length === 0 && structuredContent !== undefined)
    parts.push(text(JSON.stringify(structuredContent)));
  return { isError: isError === true, parts };
}

function partOf(block: ContentBlock): McpPart {
  switch (block.type) {
    case "text":
      return text(block.text);
    case "image":
    case "audio": {
      const { type: kind, mimeType, data } = block;
      return { type: "binary", kind, mimeType, data: Buffer.from(data, "base64") };
    }
    case "resource_link":
      return text(`[Resource: ${block.uri}${block.name === block.uri ? "" : ` (${block.name})`}]`);
    case "resource": {
      const { resource } = block;
      if ("text" in resource) return text(resource.text);
      const mimeType = resource.mimeType ?? "application/octet-stream";
      const name = fileName(resource.uri);
      const data = Buffer.from(resource.blob, "base64");
      return { type: "binary", kind: "resource", mimeType, data, ...(name === "" ? {} : { name }) };
    }
    default:
      return unreachable(block);
  }
}

function text(value: string): McpPart {
  return { type: "text", text: value };
}

/** Last path segment of a URI, as a safe file name. */
function fileName(uri: string): string {
  const path = uri.replace(/[?#].*$/, "").replace(/\/+$/, "");
  return path
    .slice(path.lastIndexOf("/") + 1)
    .replaceAll(/[^\w.-]+/g, "_")
    .replace(/^\.+/, "");
}
