// Tools that this server does not have: a request for one of them is told so.

import type { AgentRequest } from "../../core/agent.ts";
import type { HostedTool } from "../../core/compat.ts";
import { ServiceError } from "../../core/error.ts";
import type { Toolset } from "../tool.ts";

/** Clients list such tools without being asked, so one mode leaves them out. */
const LEFT_OUT_ADVICE = "with --compat clients the server leaves such tools out";

interface Kind {
  readonly what: string;
  /** The field that asks for it, unless the request says where it does. */
  readonly param: string;
  readonly tool?: HostedTool;
  /** What switches it on. */
  readonly setting: string;
  readonly isAsked: (agent: AgentRequest) => boolean;
}

const KINDS = {
  python: {
    what: "code execution",
    param: "tools",
    tool: "code_execution",
    setting: "enable_code_execution",
    isAsked: ({ python }) => python,
  },
  shell: {
    what: "shell execution",
    param: "tools",
    tool: "shell",
    setting: "enable_shell",
    isAsked: ({ shell }) => shell !== undefined,
  },
  search: {
    what: "web search",
    param: "web_search_options",
    tool: "web_search",
    setting: "enable_search",
    isAsked: ({ webSearch }) => webSearch !== undefined,
  },
  files: {
    what: "making files",
    param: "files",
    setting: "enable_code_execution or enable_shell",
    isAsked: ({ files }) => files.length > 0,
  },
} as const satisfies Record<string, Kind>;

/** Refuses requests for something with `capability_disabled`. */
export function disabledToolset(name: keyof typeof KINDS): Toolset {
  const { what, setting, isAsked, ...kind }: Kind = KINDS[name];
  return ({ agent }) => {
    if (!isAsked(agent)) return { tools: [] };
    const field = kind.tool === undefined ? undefined : agent.fields?.[kind.tool];
    const param = field ?? kind.param;
    const advice = field === undefined ? "" : `; ${LEFT_OUT_ADVICE}`;
    const message = `${param}: ${what} is not enabled on this server; it is started with ${setting}${advice}`;
    throw new ServiceError("capability_disabled", message, { param });
  };
}
