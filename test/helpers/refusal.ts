import { type ErrorCode, ServiceError } from "../../src/core/error.ts";

/** The ServiceError that an action throws or rejects with; fails if it does neither, or with anything else. */
export async function refusal(act: () => unknown): Promise<ServiceError> {
  try {
    await act();
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
  throw new Error("it was not refused");
}

/** Its code alone. */
export async function refusalCode(act: () => unknown): Promise<ErrorCode> {
  return (await refusal(act)).code;
}
