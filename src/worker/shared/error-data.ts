// Errors of the engine process as clients see them.

import { type ErrorData, ServiceError } from "../../core/error.ts";

/** Error data of a thrown value. Anything but a ServiceError is logged and answered without detail. */
export function toErrorData(error: unknown): ErrorData {
  if (error instanceof ServiceError) return error.toData();
  console.error("engine:", error);
  return { code: "internal_error", message: "the engine could not take this request" };
}
