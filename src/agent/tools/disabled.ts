// Tools that this server does not have: a request for one of them is told so.

import { ServiceError } from "../../core/error.ts";
import type { Toolset } from "../tool.ts";

/** What may be switched off, and what switches it on. */
const KINDS = {
  python: { what: "code execution", param: "tools", setting: "enable_code_execution" },
  shell: { what: "shell execution", param: "tools", setting: "enable_shell" },
  webSearch: { what: "web search", param: "web_search_options", setting: "enable_search" },
} as const;

/** Refuses requests for a kind of tools with `capability_disabled`. */
export function disabledToolset(kind: keyof typeof KINDS): Toolset {
  const { what, param, setting } = KINDS[kind];
  return ({ agent }) => {
    if (agent[kind] === undefined || agent[kind] === false) return { tools: [] };
    const message = `${param}: ${what} is not enabled on this server; start it with ${setting}`;
    throw new ServiceError("capability_disabled", message, { param });
  };
}
