import type { ErrorCode } from "../core/error.ts";

/** What is wrong, for clients: the codes of the table of errors. */
export type HubErrorCode = Extract<
  ErrorCode,
  | "hub_access_denied"
  | "hub_model_not_found"
  | "hub_unavailable"
  | "invalid_request"
  | "model_storage_full"
  | "unsupported_value"
>;

/**
 * A model could not be fetched. The message is a sentence for the operator, with the fix; it may name folders of this
 * machine, which src/app takes out before a client sees it.
 */
export class HubError extends Error {
  override readonly name = "HubError";
  readonly code: HubErrorCode;
  /** Seconds after which the hub wants to be asked again. */
  readonly retryAfterSecs: number | undefined;

  constructor(message: string, code: HubErrorCode = "hub_unavailable", retryAfterSecs?: number) {
    super(message);
    this.code = code;
    this.retryAfterSecs = retryAfterSecs;
  }
}
