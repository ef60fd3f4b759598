// An MCP server for tests, built with the SDK's server: what it offers, over whatever transport. As a script (`bun
// mcp-demo.ts`) it speaks on stdin and stdout.

import { appendFileSync } from "node:fs";
import { type CallToolResult, type ListToolsResult, Server } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";

export interface DemoOptions {
  /** Tools beside those below: `extra_0` … */
  readonly extra?: number;
  /** Of the tools below these alone. */
  readonly only?: readonly string[];
  /** Whether it has prompts and resources, too. */
  readonly offers?: boolean;
  /** Tools of one page; all unless given. */
  readonly pageSize?: number;
  /** Called when a call to `wait` has come in, and when it is cancelled. */
  readonly note?: (what: "waiting" | "cancelled") => void;
}

/** The smallest PNG. */
export const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=";

type Tool = ListToolsResult["tools"][number];

const TEXT: Tool["inputSchema"] = {
  type: "object",
  properties: { text: { type: "string" } },
  required: ["text"],
};
const NOTHING: Tool["inputSchema"] = { type: "object", properties: {} };

function tool(name: string, inputSchema: Tool["inputSchema"] = NOTHING): Tool {
  return { name, description: `The tool ${name}.\nIts second line.`, inputSchema };
}

const NAMES = ["fail", "wait", "picture", "mixed", "structured", "die", "grow", "family"] as const;

/** A fresh server; one for each connection. */
export function demoServer({
  extra = 0,
  only,
  offers = false,
  pageSize = 10_000,
  note,
}: DemoOptions = {}): Server {
  const all = [tool("echo", TEXT), tool("environment", TEXT), ...NAMES.map((name) => tool(name))];
  const tools = [
    ...all.filter(({ name }) => only?.includes(name) ?? true),
    ...Array.from({ length: extra }, (_, index) => tool(`extra_${index}`, TEXT)),
  ];
  const server = new Server(
    { name: "demo", version: "1" },
    { capabilities: { tools: { listChanged: true }, ...(offers && { prompts: {}, resources: {} }) } },
  );
  if (offers) offer(server);
  server.setRequestHandler("tools/list", ({ params }) => {
    const from = Number(params?.cursor ?? 0);
    const to = from + pageSize;
    return { tools: tools.slice(from, to), ...(to < tools.length ? { nextCursor: String(to) } : {}) };
  });
  server.setRequestHandler("tools/call", async ({ params }, { mcpReq }): Promise<CallToolResult> => {
    const text = String(params.arguments?.["text"]);
    switch (params.name) {
      case "echo":
        return said(text);
      case "environment":
        return said(String(process.env[text]));
      case "fail":
        return { ...said("it broke"), isError: true };
      case "wait":
        note?.("waiting");
        mcpReq.signal.addEventListener("abort", () => note?.("cancelled"));
        return new Promise(() => {});
      case "grow":
        tools.push(tool("grown"));
        await server.sendToolListChanged();
        return said("grown");
      case "die":
        process.exit(3);
      case "family":
        return said(String(Bun.spawn(["sleep", "1000"], { stdio: ["ignore", "inherit", "ignore"] }).pid));
      default:
        return content(params.name);
    }
  });
  return server;
}

/** Prompts, one of which fails, and resources. */
function offer(server: Server): void {
  const path = { name: "path", description: "A file.", required: true };
  server.setRequestHandler("prompts/list", () => ({
    prompts: [
      { name: "review", title: "Review", description: "Reviews a file.", arguments: [path] },
      { name: "broken" },
    ],
  }));
  server.setRequestHandler("prompts/get", ({ params: { name, arguments: args } }) => {
    if (name === "broken") throw new Error("the prompt's file is gone");
    return {
      description: "A review.",
      messages: [
        { role: "user", content: { type: "text", text: `Review ${args?.["path"]}.` } },
        { role: "user", content: { type: "image", data: PNG, mimeType: "image/png" } },
        { role: "assistant", content: { type: "text", text: "Gladly." } },
      ],
    };
  });
  server.setRequestHandler("resources/list", () => ({
    resources: [{ uri: "demo://notes", name: "notes", description: "Notes." }],
  }));
  server.setRequestHandler("resources/templates/list", () => ({
    resourceTemplates: [{ uriTemplate: "demo://day/{date}", name: "day" }],
  }));
  server.setRequestHandler("resources/read", ({ params: { uri } }) => {
    if (uri === "demo://none") throw new Error("there is no such resource");
    return {
      contents: [
        { uri, text: `About ${uri}` },
        { uri: `${uri}/a.bin`, blob: "AAEC", mimeType: "application/x-b" },
      ],
    };
  });
}

function said(text: string): CallToolResult {
  return { content: [{ type: "text", text }] };
}

function content(name: string): CallToolResult {
  switch (name) {
    case "picture":
      return { content: [{ type: "image", data: PNG, mimeType: "image/png" }] };
    case "mixed":
      return {
        content: [
          { type: "text", text: "first" },
          { type: "image", data: "/9j/", mimeType: "image/jpeg" },
          { type: "audio", data: "UklGRg==", mimeType: "audio/wav" },
          { type: "resource_link", uri: "demo://link", name: "link" },
          { type: "resource", resource: { uri: "demo://text", text: "of a resource" } },
          {
            type: "resource",
            resource: { uri: "demo://a/b.bin?x", blob: "AAEC", mimeType: "application/x-b" },
          },
        ],
      };
    case "structured":
      return { content: [], structuredContent: { answer: 42 } };
    default:
      throw new Error(`there is no tool ${name}`);
  }
}

if (import.meta.main) {
  const { DEMO_ONLY, DEMO_EXTRA, DEMO_PAGE, DEMO_NOTES, DEMO_NOISE, DEMO_STUBBORN, DEMO_DEAD } = process.env;
  if (DEMO_DEAD !== undefined) {
    console.error("cannot read its settings");
    process.exit(4);
  }
  if (DEMO_NOISE !== undefined) console.log("Listening.\n{not json}\n[1]");
  if (DEMO_STUBBORN !== undefined) {
    process.on("SIGTERM", () => {});
    setInterval(() => {}, 1000);
  }
  await demoServer({
    ...(DEMO_ONLY === undefined ? {} : { only: DEMO_ONLY.split(",") }),
    ...(DEMO_EXTRA === undefined ? {} : { extra: Number(DEMO_EXTRA) }),
    ...(DEMO_PAGE === undefined ? {} : { pageSize: Number(DEMO_PAGE) }),
    ...(DEMO_NOTES === undefined ? {} : { note: (what) => appendFileSync(DEMO_NOTES, `${what}\n`) }),
  }).connect(new StdioServerTransport());
}
