// Compatibility mode: `strict` refuses fields that `clients` accepts with the closest supported behaviour.

import type { InputMessage } from "../../core/agent.ts";
import type { Compat, CompatKind, HostedTool } from "../../core/compat.ts";
import { defined } from "../../core/defined.ts";
import { ServiceError } from "../../core/error.ts";
import { hasFile } from "../../core/input-file.ts";

/** Appended to refusals that `--compat clients` would lift. */
const ADVICE = "a server started with --compat clients accepts it";

/** Under `strict`, throws the refusal with a hint at the setting; under `clients`, counts that the refusal was lifted. */
export function serveOrRefuse(compat: Compat, kind: CompatKind, refusal: ServiceError): void {
  if (compat.mode === "clients") return compat.note(kind);
  throw withAdvice(refusal);
}

/** Whether a hosted tool is dropped because the server lacks it. Under `strict` the agent refuses it instead. */
export function isOmitted(compat: Compat, tool: HostedTool): boolean {
  if (compat.mode === "strict" || compat.hosted.has(tool)) return false;
  compat.note("hosted_tool");
  return true;
}

/**
 * Messages whose files are texts of the message, as for OpenAI's servers. The specification has a preview of 4,096 characters: it
 * stays under `strict`.
 */
export function withWholeFiles(messages: readonly InputMessage[], compat: Compat): readonly InputMessage[] {
  if (compat.mode === "strict" || !messages.some(hasFile)) return messages;
  compat.note("whole_file");
  return messages.map((message) => {
    const content = message.content.map((part) => (part.type === "file" ? { ...part, isWhole: true } : part));
    return hasFile(message) ? { ...message, content } : message;
  });
}

/** The refusal with a hint at the setting that lifts it. */
function withAdvice({ code, message, param }: ServiceError): ServiceError {
  return new ServiceError(code, `${message}; ${ADVICE}`, defined({ param }));
}
