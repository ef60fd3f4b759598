// MCP servers that were added in the web interface, on a State: they belong to the caller who added them and are connected when
// that caller first needs them. Knows neither HTTP nor which callers may add servers.
// The server connects, not the browser: tools run in rounds, with approvals and held answers. Requests of programs have none of them.

import { randomUUID } from "node:crypto";
import type { McpSelection } from "../core/agent.ts";
import type { Caller, ForCaller } from "../core/caller.ts";
import { ServiceError } from "../core/error.ts";
import { MCP_TIMEOUT_SECS } from "../core/limits.ts";
import type { McpOffers } from "../core/mcp-offers.ts";
import type { PageMcp, PageMcpRequest, PageMcpServer, PageMcpToken } from "../core/page-mcp.ts";
import type { OwnedState, Records } from "../core/state.ts";
import { MCP_PAGE_CALLS_MAX, MCP_PAGE_SERVERS_MAX, MCP_PAGE_SERVERS_OF_CALLER_MAX } from "./limits.ts";
import { offersOf } from "./offers.ts";
import { type McpServerState, McpServers, type McpServersDeps } from "./servers.ts";
import type { McpAssets, McpTool } from "./types.ts";

interface Kept extends PageMcpRequest {
  readonly id: string;
}

export interface PageMcpOptions extends McpServersDeps {
  /** Servers of the configuration; undefined without one. */
  readonly configured: McpServers | undefined;
  /** Where servers are kept; absent: none can be added. */
  readonly state?: OwnedState;
}

export class PageMcpServers implements PageMcp {
  private readonly options: PageMcpOptions;
  private readonly records: ForCaller<Records<Kept>> | undefined;
  private readonly open = new Map<string, McpServers>();

  constructor(options: PageMcpOptions) {
    this.options = options;
    this.records = options.state?.records<Kept>("ui-mcp", {
      capacity: MCP_PAGE_SERVERS_MAX,
      life: { type: "endless" },
      mayGo: () => false,
    });
  }

  list(own: Caller | undefined): readonly PageMcpServer[] {
    const configured = this.options.configured?.states() ?? [];
    return [
      ...configured.map((state) => shown(state, "configuration")),
      ...this.states(own).map((state) => shown(state, "page")),
    ];
  }

  log(id: string, own: Caller | undefined): readonly string[] {
    const states = [...(this.options.configured?.states() ?? []), ...this.states(own)];
    const found = states.find((state) => state.id === id);
    if (found === undefined) throw notFound();
    return found.log;
  }

  add(request: PageMcpRequest, caller: Caller): PageMcpServer {
    const records = this.records?.(caller);
    if (records === undefined)
      throw new ServiceError("capability_disabled", "MCP servers cannot be added: start svc with --ui-mcp");
    const kept = { ...request, id: randomUUID() };
    if (this.list(caller).some(({ name }) => name === kept.name)) {
      const message = `name ${JSON.stringify(kept.name)} is taken by another MCP server; choose another one`;
      throw new ServiceError("invalid_request", message, { param: "name" });
    }
    if (!URL.canParse(kept.url)) {
      throw new ServiceError("invalid_request", "url is not an address; check its spelling", {
        param: "url",
      });
    }
    if (records.list().length >= MCP_PAGE_SERVERS_OF_CALLER_MAX) {
      const message = `there are ${MCP_PAGE_SERVERS_OF_CALLER_MAX} MCP servers already; remove one first`;
      throw new ServiceError("state_full", message);
    }
    records.put(kept.id, kept);
    return shown(this.stateOf(kept), "page");
  }

  setToken(id: string, { bearer_token: token }: PageMcpToken, caller: Caller): PageMcpServer {
    const records = this.records?.(caller);
    const before = records?.get(id);
    if (records === undefined || before === undefined) throw notFound();
    const kept = { ...before, bearer_token: token };
    records.put(id, kept);
    this.disconnect(id);
    return shown(this.stateOf(kept), "page");
  }

  remove(id: string, caller: Caller): void {
    if (this.records?.(caller).delete(id) !== true) throw notFound();
    this.disconnect(id);
  }

  /** Tools of a conversation; of two tools with one name the first is kept, those of the configuration come first. */
  tools(selection: McpSelection | undefined, caller: Caller): readonly McpTool[] {
    const configured = this.options.configured?.tools() ?? [];
    if (selection === undefined) return configured;
    const own = selection.own ? this.states(caller).flatMap(({ tools }) => tools) : [];
    const named = new Map([...own.toReversed(), ...configured.toReversed()].map((tool) => [tool.name, tool]));
    return [...configured, ...own].filter(
      (tool) => named.get(tool.name) === tool && !selection.off.includes(tool.server),
    );
  }

  /** Instructions and resources of a conversation's servers. */
  assets(selection: McpSelection | undefined, caller: Caller): readonly McpAssets[] {
    const configured = this.options.configured?.assets() ?? [];
    const kept = selection?.own === true ? this.keptOf(caller) : [];
    const own = kept.flatMap((one) => this.opened(one).assets());
    return [...configured, ...own].filter(({ server }) => selection?.off.includes(server) !== true);
  }

  async offers(selection: McpSelection | undefined, caller: Caller): Promise<McpOffers> {
    const own = selection === undefined ? undefined : this.tried(selection, caller);
    await Promise.all([this.options.configured?.tried(), own]);
    return offersOf(this.assets(selection, caller));
  }

  /** Settles after the first attempt to connect to each of the caller's servers. */
  async tried({ off, own }: McpSelection, caller: Caller): Promise<void> {
    const kept = own ? this.keptOf(caller) : [];
    await Promise.all(kept.filter(({ id }) => !off.includes(id)).map((one) => this.opened(one).tried()));
  }

  async close(): Promise<void> {
    await Promise.all([...this.open.values()].map((servers) => servers.close()));
  }

  private disconnect(id: string): void {
    void this.open.get(id)?.close();
    this.open.delete(id);
  }

  private keptOf(caller: Caller): readonly Kept[] {
    return this.records?.(caller).list() ?? [];
  }

  private states(caller: Caller | undefined): readonly McpServerState[] {
    return caller === undefined ? [] : this.keptOf(caller).map((kept) => this.stateOf(kept));
  }

  private stateOf(kept: Kept): McpServerState {
    const [state] = this.opened(kept).states();
    if (state !== undefined) return state;
    throw new Error("one server has one state");
  }

  private opened(kept: Kept): McpServers {
    const known = this.open.get(kept.id);
    if (known !== undefined) return known;
    const { id, name, url, headers = {}, bearer_token: bearerToken } = kept;
    const server = {
      id,
      label: name,
      prefix: name,
      source: { type: "Http", url, headers } as const,
      ...(bearerToken === undefined ? {} : { bearerToken }),
    };
    const limits = { toolTimeoutMs: MCP_TIMEOUT_SECS * 1000, callsMax: MCP_PAGE_CALLS_MAX };
    const servers = new McpServers({ servers: [server], registersTools: true, ...limits }, this.options);
    this.open.set(id, servers);
    return servers;
  }
}

function notFound(): ServiceError {
  return new ServiceError("mcp_server_not_found", "there is no MCP server with this id; list them again");
}

function shown(state: McpServerState, origin: PageMcpServer["origin"]): PageMcpServer {
  const { id, label, host, isConnected, problem, needsToken, tools, faults } = state;
  return {
    id,
    name: label,
    origin,
    ...(host === undefined ? {} : { host }),
    status: isConnected ? "connected" : problem === undefined ? "connecting" : "failed",
    ...(problem === undefined ? {} : { problem }),
    ...(needsToken && { needs_token: true }),
    tools: tools.map(({ name, description }) => ({ name, description })),
    ...(faults.length === 0 ? {} : { faults }),
  };
}
