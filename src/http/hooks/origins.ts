// Which web pages may use the server. Any page that a browser shows can send requests to this machine, under its own name or
// under one that it lets point here; the Origin header gives it away, which browsers send with every request that changes
// something. Programs send none.

import { isIP } from "node:net";
import { ServiceError } from "../../core/error.ts";

export interface OriginPolicy {
  /** Origins that may besides: `https://app.example`. */
  readonly origins: readonly string[];
  /** Names of this machine that third parties cannot assign. */
  readonly hosts: readonly string[];
  /** What is guarded: everything, or only what changes models for all, and what Ollama itself keeps pages from. */
  readonly scope: "all" | "commands";
}

/** Downloads, deletes, loads, unloads, measures and changes models and adapters; Ollama's routes do so by `keep_alive`. */
const COMMANDS =
  /^\/(?:v1\/models\/(?:unload|reload|tune)|v1\/hub\/.*|v1\/(?:un)?load_lora_adapter|re_isq|calibration\/(?:start|apply)|api\/.*)\/?$/;

const LOOPBACK: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Makes the check: it throws `origin_not_allowed` for a request of another page. */
export function originCheck({
  origins,
  hosts,
  scope,
}: OriginPolicy): (request: Request, path: string) => void {
  const allowed = new Set(origins.map((origin) => origin.toLowerCase().replace(/\/$/, "")));
  const own = new Set(hosts.map((host) => host.toLowerCase()));
  return ({ headers }, path) => {
    if (scope === "commands" && !COMMANDS.test(path)) return;
    const origin = headers.get("origin");
    if (origin === null || allowed.has(origin.toLowerCase())) return;
    if (URL.canParse(origin) && isHere(new URL(origin), own, headers.get("host"))) return;
    const message =
      "pages of this origin may not use this server; add it to server.allowed_origins, or set server.api_keys";
    throw new ServiceError("origin_not_allowed", message);
  };
}

/** A page of this machine. One that was fetched by address came from that address; a name can point anywhere. */
function isHere({ hostname, host }: URL, own: ReadonlySet<string>, asked: string | null): boolean {
  if (LOOPBACK.has(hostname) || own.has(hostname)) return true;
  return isIP(hostname.replace(/^\[|\]$/g, "")) !== 0 && host === asked;
}
