// /v1/mcp: prompts and resources of MCP servers, as messages and content parts of chat completions.

import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { McpOffers, OfferedMessage, OfferedPart } from "../../core/mcp-offers.ts";
import { Message, UserPart } from "../../dialects/chat/schema.ts";
import { checker } from "../../dialects/shared/check.ts";
import { readJsonObject } from "../body.ts";
import type { HttpDeps } from "../deps.ts";
import { callerOf } from "../observe.ts";
import type { ApiComponents } from "../openapi.ts";
import { selectionOf } from "./ui-mcp.ts";

const words = (description: string) => Type.String({ description });
const wanted = (description: string) => Type.String({ minLength: 1, maxLength: 2048, description });

const Failed = Type.Optional(
  Type.Array(Type.Object({ server: words("Name of the server."), message: words("Why.") }), {
    description: "Servers that could not list theirs, and why; absent where all could.",
  }),
);

const McpPromptArgument = Type.Object(
  {
    name: words("Name of the argument."),
    description: Type.Optional(words("What it means.")),
    required: Type.Boolean({ description: "Whether the prompt needs it." }),
  },
  { $id: "McpPromptArgument", description: "An argument of a prompt." },
);

const McpPrompt = Type.Object(
  {
    server: words("Name of the server."),
    name: words("Name of the prompt."),
    title: Type.Optional(words("Its name for people.")),
    description: Type.Optional(words("What it is for.")),
    arguments: Type.Array(McpPromptArgument, { description: "What it asks for." }),
  },
  { $id: "McpPrompt", description: "A prompt of an MCP server." },
);

const McpPromptList = Type.Object(
  {
    object: Type.Literal("list", { description: "`list`." }),
    data: Type.Array(McpPrompt, { description: "Prompts of all connected servers." }),
    failed: Failed,
  },
  { $id: "McpPromptList", description: "Prompts of MCP servers." },
);

const McpPromptRequest = Type.Object(
  {
    server: wanted("Server of the list."),
    name: wanted("Name of one of its prompts."),
    arguments: Type.Optional(
      Type.Record(Type.String(), Type.String(), { description: "Values of the prompt's arguments." }),
    ),
  },
  {
    $id: "McpPromptRequest",
    description: "Fills in a prompt.",
    additionalProperties: true,
    examples: [{ server: "files", name: "review", arguments: { path: "a.ts" } }],
  },
);

const McpFilledPrompt = Type.Object(
  {
    description: Type.Optional(words("What the server says of it.")),
    messages: Type.Array(Message, { description: "Messages for a chat completion." }),
  },
  { $id: "McpFilledPrompt", description: "A prompt with its arguments filled in." },
);

const McpResource = Type.Object(
  {
    server: words("Name of the server."),
    uri: words("Address of the resource; of a template, with variables in braces."),
    name: words("Name of the resource."),
    description: Type.Optional(words("What it is.")),
  },
  { $id: "McpResource", description: "A resource of an MCP server." },
);

const McpResourceList = Type.Object(
  {
    object: Type.Literal("list", { description: "`list`." }),
    data: Type.Array(McpResource, { description: "Resources and templates of all connected servers." }),
    failed: Failed,
  },
  { $id: "McpResourceList", description: "Resources of MCP servers." },
);

const McpResourceRequest = Type.Object(
  {
    server: wanted("Server of the list."),
    uri: wanted("Address of the resource, with its variables filled in."),
  },
  {
    $id: "McpResourceRequest",
    description: "Reads a resource.",
    additionalProperties: true,
    examples: [{ server: "files", uri: "file:///srv/notes.md" }],
  },
);

const McpResourceContent = Type.Object(
  { content: Type.Array(UserPart, { description: "Content parts for a message of a chat completion." }) },
  { $id: "McpResourceContent", description: "Content of a resource." },
);

const checkPrompt = checker(McpPromptRequest);
const checkResource = checker(McpResourceRequest);

/** Routes of prompts and resources. */
export function mcpOfferRoutes(deps: HttpDeps, components: ApiComponents) {
  const offers = (request: Request): Promise<McpOffers> =>
    deps.mcp.servers.offers(selectionOf(deps, request), callerOf(request));
  const detailOf = (operationId: string, summary: string, details: object) => ({
    parse: "none" as const, // body.ts reads it
    detail: { operationId, tags: ["MCP"], summary, ...details },
  });
  return new Elysia()
    .get(
      "/v1/mcp/prompts",
      async ({ request }) => listed(await (await offers(request)).prompts(request.signal)),
      detailOf("list_mcp_prompts", "List prompts of MCP servers", {
        description: "Waits until every server has been tried once. Servers that offer none are left out.",
        responses: components.answers("The prompts of all connected servers.", McpPromptList),
      }),
    )
    .post(
      "/v1/mcp/prompts",
      async ({ request }) => {
        const { server, name, arguments: args = {} } = checkPrompt(await readJsonObject(request));
        const filled = await (await offers(request)).fill({ server, name, arguments: args }, request.signal);
        return Response.json({ ...filled, messages: filled.messages.map(messageOf) });
      },
      detailOf("fill_mcp_prompt", "Fill in a prompt of an MCP server", {
        description:
          "The server fills in the arguments. Answers of an example are text; of other media the user's messages have content parts.",
        requestBody: components.body(McpPromptRequest),
        responses: components.answers("The messages of the prompt.", McpFilledPrompt),
      }),
    )
    .get(
      "/v1/mcp/resources",
      async ({ request }) => listed(await (await offers(request)).resources(request.signal)),
      detailOf("list_mcp_resources", "List resources of MCP servers", {
        description: "Resources and templates of addresses. Waits until every server has been tried once.",
        responses: components.answers("The resources of all connected servers.", McpResourceList),
      }),
    )
    .post(
      "/v1/mcp/resources",
      async ({ request }) => {
        const { server, uri } = checkResource(await readJsonObject(request));
        const parts = await (await offers(request)).read({ server, uri }, request.signal);
        return Response.json({ content: parts.map(partOf) });
      },
      detailOf("read_mcp_resource", "Read a resource of an MCP server", {
        description: "Text, images, audio and files as content parts.",
        requestBody: components.body(McpResourceRequest),
        responses: components.answers("The content of the resource.", McpResourceContent),
      }),
    );
}

function listed({ data, failed }: { readonly data: readonly object[]; readonly failed: readonly object[] }) {
  return Response.json({ object: "list", data, ...(failed.length > 0 && { failed }) });
}

function messageOf({ role, part }: OfferedMessage) {
  if (part.type === "text") return { role, content: part.text.toWellFormed() };
  // Answers of models are text; what else one of an example has is named.
  if (role === "assistant") return { role, content: `[${part.name ?? part.mimeType}]` };
  return { role, content: [partOf(part)] };
}

function partOf(part: OfferedPart) {
  if (part.type === "text") return { type: "text", text: part.text.toWellFormed() };
  const { kind, mimeType, name = "resource" } = part;
  const data = Buffer.from(part.data).toString("base64");
  const url = `data:${mimeType};base64,${data}`;
  switch (kind) {
    case "image":
      return { type: "image_url", image_url: { url } };
    case "audio": {
      const format = mimeType.replace(/^audio\/(?:x-)?/, "").replace("mpeg", "mp3");
      return { type: "input_audio", input_audio: { data, format } };
    }
    case "resource":
      return { type: "file", file: { filename: name, file_data: url } };
  }
}
