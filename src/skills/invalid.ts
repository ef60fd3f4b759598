import { defined } from "../core/defined.ts";
import { ServiceError } from "../core/error.ts";

/** What is wrong with an upload, and what would be right. */
export function invalidSkill(problem: string, cause?: unknown): ServiceError {
  return new ServiceError("invalid_skill_upload", problem, defined({ cause }));
}

/** A name of an upload as a message may show it. */
export function shown(name: string): string {
  return JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name);
}
