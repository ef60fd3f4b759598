// Variables of the environment in a file of MCP servers: `${NAME}`, `${NAME:-default}`, `${env:NAME}`, and `env:NAME` as a whole value
// where secrets stand. Files with them can be shared; values are never shown.

import { isObject } from "../core/json.ts";
import type { Environment } from "./sources.ts";

export interface Expanded {
  readonly value: unknown;
  /** Keys whose variables have no value, and the reason. */
  readonly faults: readonly { readonly key: string; readonly what: string; readonly fix: string }[];
}

/** Keys below which a whole value `env:NAME` stands for a variable, as in settings of upstreams. */
const SECRET_KEYS = new Set(["env", "headers", "bearer_token", "oauth"]);

const PLACEHOLDER = /\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;
/** What editors ask the user for, or know of a project. */
const OF_EDITORS = /\$\{(input:|workspaceFolder|config:|command:|file)[^}]*\}/;

/** A value with its variables filled in, at a key such as `servers[0]`. */
export function expandVariables(value: unknown, key: string, environment: Environment): Expanded {
  const faults: { key: string; what: string; fix: string }[] = [];
  const fault = (at: string, what: string, fix: string): void => void faults.push({ key: at, what, fix });

  function text(written: string, at: string, isSecret: boolean): string {
    const named = isSecret ? /^env:([A-Za-z_][A-Za-z0-9_]*)$/.exec(written)?.[1] : undefined;
    if (named !== undefined) return variable(named, at);
    const editor = OF_EDITORS.exec(written);
    if (editor !== null) {
      const fix = "Write a variable of the environment, such as ${NAME} or env:NAME, or the value.";
      fault(at, `${editor[1]?.replace(/:$/, "")} of an editor has no value here`, fix);
      return written;
    }
    return written.replaceAll(PLACEHOLDER, (_all, name: string, other: string | undefined) =>
      variable(name, at, other),
    );
  }

  function variable(name: string, at: string, other?: string): string {
    const found = environment[name];
    if (found !== undefined && found !== "") return found;
    if (other !== undefined) return other;
    fault(at, `the environment has no variable ${name}`, `Set it for svc, or write \${${name}:-DEFAULT}.`);
    return "";
  }

  function walk(node: unknown, at: string, isSecret: boolean): unknown {
    if (typeof node === "string") return text(node, at, isSecret);
    if (Array.isArray(node)) return node.map((one, index) => walk(one, `${at}[${index}]`, isSecret));
    if (!isObject(node)) return node;
    const entries = Object.entries(node).map(
      ([name, one]) => [name, walk(one, `${at}.${name}`, isSecret || SECRET_KEYS.has(name))] as const,
    );
    return Object.fromEntries(entries);
  }

  return { value: walk(value, key, false), faults };
}
