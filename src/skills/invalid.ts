import { defined } from "../core/defined.ts";
import { ServiceError } from "../core/error.ts";
import { brief } from "../core/shorten.ts";

/** Error for an invalid upload; `problem` includes the fix. */
export function invalidSkill(problem: string, cause?: unknown): ServiceError {
  return new ServiceError("invalid_skill_upload", problem, defined({ cause }));
}

/** A client's name, quoted and shortened for a message. */
export function shown(name: string): string {
  return JSON.stringify(brief(name, 80));
}
