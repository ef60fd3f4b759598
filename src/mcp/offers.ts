// Prompts and resources of connected servers, for clients.

import { defined } from "../core/defined.ts";
import { ServiceError } from "../core/error.ts";
import type { McpOffers, OfferedPrompt, OfferList } from "../core/mcp-offers.ts";
import { shorten } from "../core/shorten.ts";
import { McpFailure } from "./failure.ts";
import { MCP_WORDS_CHARS_MAX } from "./limits.ts";
import type { ListedPrompt } from "./connection.ts";
import type { McpAssets } from "./types.ts";

/** What these servers offer. */
export function offersOf(servers: readonly McpAssets[]): McpOffers {
  const having = (kind: "prompts" | "resources", name: string): McpAssets => {
    const all = servers.filter((one) => one[kind] !== undefined);
    const found = all.find(({ label }) => label === name);
    if (found !== undefined) return found;
    const names = all.map(({ label }) => label).join(", ");
    const message = `no connected MCP server ${JSON.stringify(name.slice(0, 100))} offers ${kind}. ${names === "" ? "None does." : `Those that do: ${names}.`}`;
    throw new ServiceError("mcp_server_not_found", message, { param: "server" });
  };
  return {
    prompts: (signal) =>
      listed(servers, async ({ label, prompts }) =>
        ((await prompts?.list(signal)) ?? []).map((prompt) => offered(label, prompt)),
      ),
    resources: (signal) =>
      listed(servers, async ({ label, resources }) =>
        ((await resources?.entries(signal)) ?? []).map(({ description, ...rest }) => ({
          server: label,
          ...rest,
          ...defined({ description }),
        })),
      ),
    fill: async ({ server, name, arguments: args }, signal) => {
      const { prompts, label } = having("prompts", server);
      const known = ((await attempt(label, prompts?.list(signal))) ?? []).find((one) => one.name === name);
      if (known === undefined) {
        const message = `MCP server ${label} has no prompt ${JSON.stringify(name.slice(0, 100))}; list them again`;
        throw new ServiceError("invalid_request", message, { param: "name" });
      }
      const lacking = known.arguments?.find((one) => one.required === true && args[one.name] === undefined);
      if (lacking !== undefined) {
        const message = `the prompt needs the argument ${lacking.name}`;
        throw new ServiceError("missing_field", message, { param: `arguments.${lacking.name}` });
      }
      const filled = await attempt(label, prompts?.fill(name, args, signal));
      return { ...defined({ description: filled?.description }), messages: filled?.messages ?? [] };
    },
    read: async ({ server, uri }, signal) => {
      const { resources, label } = having("resources", server);
      const result = await attempt(label, resources?.read(uri, signal));
      const parts = result?.parts ?? [];
      if (result?.isError !== true) return parts;
      throw failure(label, parts.map((part) => (part.type === "text" ? part.text : "")).join(" "));
    },
  };
}

/** The lists of all servers, without those that fail. */
async function listed<T>(
  servers: readonly McpAssets[],
  list: (server: McpAssets) => Promise<readonly T[]>,
): Promise<OfferList<T>> {
  const failed: { server: string; message: string }[] = [];
  const data = await Promise.all(
    servers.map(async (server) => {
      try {
        return await list(server);
      } catch (error) {
        if (!(error instanceof McpFailure)) throw error;
        failed.push({ server: server.label, message: error.message });
        return [];
      }
    }),
  );
  return { data: data.flat(), failed };
}

async function attempt<T>(server: string, work: Promise<T> | undefined): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof McpFailure) throw failure(server, error.message);
    throw error;
  }
}

function failure(server: string, reason: string): ServiceError {
  return new ServiceError("upstream_failed", `MCP server ${server}: ${shorten(reason, MCP_WORDS_CHARS_MAX)}`);
}

function offered(
  server: string,
  { name, title, description, arguments: args = [] }: ListedPrompt,
): OfferedPrompt {
  return {
    server,
    name,
    ...defined({ title, description }),
    arguments: args.map(({ required = false, ...rest }) => ({
      name: rest.name,
      ...defined({ description: rest.description }),
      required,
    })),
  };
}
