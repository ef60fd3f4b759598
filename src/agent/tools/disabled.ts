// Toolsets of disabled capabilities: refuse requests for them with the flag that enables them.

import type { AgentRequest } from "../../core/agent.ts";
import type { HostedTool } from "../../core/compat.ts";
import { ServiceError } from "../../core/error.ts";
import type { Toolset } from "../tool.ts";

/** Some clients always list such tools; `--compat clients` ignores them. */
const COMPAT_ADVICE = "--compat clients ignores such tools";

interface Kind {
  readonly what: string;
  /** The field that requests it, unless the request names another. */
  readonly param: string;
  readonly tool?: HostedTool;
  /** Setting that enables it. */
  readonly flag: string;
  readonly isRequested: (agent: AgentRequest) => boolean;
}

const KINDS = {
  python: {
    what: "code execution",
    param: "tools",
    tool: "code_execution",
    flag: "--enable-code-execution",
    isRequested: ({ python }) => python,
  },
  shell: {
    what: "shell execution",
    param: "tools",
    tool: "shell",
    flag: "--enable-shell",
    isRequested: ({ shell }) => shell !== undefined,
  },
  search: {
    what: "web search",
    param: "web_search_options",
    tool: "web_search",
    flag: "--enable-search",
    isRequested: ({ webSearch }) => webSearch !== undefined,
  },
  files: {
    what: "producing files",
    param: "files",
    flag: "--enable-code-execution or --enable-shell",
    isRequested: ({ files }) => files.length > 0,
  },
} as const satisfies Record<string, Kind>;

/** Refuses requests for a capability with `capability_disabled`. */
export function disabledToolset(name: keyof typeof KINDS): Toolset {
  const { what, flag, isRequested, ...kind }: Kind = KINDS[name];
  return ({ agent }) => {
    if (!isRequested(agent)) return { tools: [] };
    const field = kind.tool === undefined ? undefined : agent.fields?.[kind.tool];
    const param = field ?? kind.param;
    const advice = field === undefined ? "" : `; ${COMPAT_ADVICE}`;
    const message = `${param}: ${what} is not enabled on this server; start the server with ${flag}${advice}`;
    throw new ServiceError("capability_disabled", message, { param });
  };
}
