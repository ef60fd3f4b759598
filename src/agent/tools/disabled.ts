// Tools that this server does not have: a request for one of them is told so.

import type { AgentRequest } from "../../core/agent.ts";
import { ServiceError } from "../../core/error.ts";
import type { Toolset } from "../tool.ts";

interface Kind {
  readonly what: string;
  readonly param: string;
  /** What switches it on. */
  readonly setting: string;
  readonly isAsked: (agent: AgentRequest) => boolean;
}

const KINDS = {
  python: {
    what: "code execution",
    param: "tools",
    setting: "enable_code_execution",
    isAsked: ({ python }) => python,
  },
  shell: {
    what: "shell execution",
    param: "tools",
    setting: "enable_shell",
    isAsked: ({ shell }) => shell !== undefined,
  },
  search: {
    what: "web search",
    param: "web_search_options",
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
  const { what, param, setting, isAsked } = KINDS[name];
  return ({ agent }) => {
    if (!isAsked(agent)) return { tools: [] };
    const message = `${param}: ${what} is not enabled on this server; it is started with ${setting}`;
    throw new ServiceError("capability_disabled", message, { param });
  };
}
