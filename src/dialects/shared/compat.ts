// The one place where a dialect decides between refusing a request and serving it in the nearest right way.

import type { Compat, CompatKind, HostedTool } from "../../core/compat.ts";
import { ServiceError } from "../../core/error.ts";

/** Appended to refusals that the other mode would not make. */
const ADVICE = "the server serves this with --compat clients";

/** Throws the refusal under `strict`, with the setting that lifts it; under `clients` notes that it was lifted. */
export function serveOrRefuse(compat: Compat, kind: CompatKind, refusal: ServiceError): void {
  if (compat.mode === "clients") return compat.note(kind);
  throw withAdvice(refusal);
}

/** Whether a tool in a body's list is left out because the server lacks it; strict leaves the refusal to the agent. */
export function isOmitted(compat: Compat, tool: HostedTool): boolean {
  if (compat.mode === "strict" || compat.hosted.has(tool)) return false;
  compat.note("hosted_tool");
  return true;
}

/** The refusal with the setting that lifts it. */
function withAdvice({ code, message, param }: ServiceError): ServiceError {
  return new ServiceError(code, `${message}; ${ADVICE}`, param === undefined ? {} : { param });
}
