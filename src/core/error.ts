// The one table of error codes. A code decides the HTTP status and the `type` a client library sees, so a
// new failure gets a row here and nowhere else. Knows nothing of HTTP responses: src/http/errors.ts writes them.

import { defined } from "./defined.ts";

/** code → [HTTP status, `error.type`]. Client libraries choose their exception class from the status. */
export const ERROR_TABLE = {
  invalid_request: [400, "invalid_request_error"],
  invalid_json: [400, "invalid_request_error"],
  missing_field: [400, "invalid_request_error"],
  unsupported_value: [400, "invalid_request_error"],
  contradictory_fields: [400, "invalid_request_error"],
  invalid_skill_upload: [400, "invalid_request_error"],
  invalid_file_upload: [400, "invalid_request_error"],
  context_length_exceeded: [400, "invalid_request_error"],
  unsupported_capability: [400, "invalid_request_error"],
  capability_disabled: [400, "invalid_request_error"],
  origin_not_allowed: [403, "permission_error"],
  permission_denied: [403, "permission_error"],
  invalid_api_key: [401, "authentication_error"],
  model_not_found: [404, "not_found_error"],
  file_not_found: [404, "not_found_error"],
  skill_not_found: [404, "not_found_error"],
  session_not_found: [404, "not_found_error"],
  response_not_found: [404, "not_found_error"],
  approval_not_found: [404, "not_found_error"],
  run_not_found: [404, "not_found_error"],
  conversation_not_found: [404, "not_found_error"],
  mcp_server_not_found: [404, "not_found_error"],
  route_not_found: [404, "not_found_error"],
  method_not_allowed: [405, "invalid_request_error"],
  host_not_allowed: [421, "permission_error"],
  request_timeout: [408, "invalid_request_error"],
  lora_runtime_unavailable: [409, "conflict_error"],
  response_not_cancellable: [409, "conflict_error"],
  run_exists: [409, "conflict_error"],
  version_mismatch: [409, "conflict_error"],
  tuning_conflict: [409, "conflict_error"],
  file_body_elided: [410, "invalid_request_error"],
  payload_too_large: [413, "invalid_request_error"],
  unsupported_media_type: [415, "invalid_request_error"],
  file_failed: [422, "invalid_request_error"],
  queue_full: [429, "rate_limit_error"],
  rate_limit_exceeded: [429, "rate_limit_error"],
  too_many_connections: [503, "server_error"],
  engine_failed: [500, "server_error"],
  template_failed: [500, "server_error"],
  upstream_failed: [503, "server_error"],
  internal_error: [500, "server_error"],
  model_unavailable: [503, "server_error"],
  rpc_worker_lost: [503, "server_error"],
  invalid_adapter: [422, "invalid_request_error"],
  adapter_not_found: [404, "not_found_error"],
  adapter_exists: [409, "conflict_error"],
  generation_mismatch: [409, "conflict_error"],
  adapter_path_not_allowed: [403, "permission_error"],
  adapter_too_large: [413, "invalid_request_error"],
  adapter_load_in_progress: [429, "rate_limit_error"],
  adapter_load_failed: [500, "server_error"],
  adapter_storage_unavailable: [503, "server_error"],
  hub_access_denied: [403, "permission_error"],
  hub_model_not_found: [404, "not_found_error"],
  hub_unavailable: [503, "server_error"],
  model_in_use: [409, "conflict_error"],
  model_storage_full: [507, "capacity_error"],
  pull_not_found: [404, "not_found_error"],
  requantization_in_progress: [409, "conflict_error"],
  calibration_not_ready: [409, "conflict_error"],
  lora_capacity_exceeded: [503, "capacity_error"],
  metrics_unavailable: [503, "server_error"],
  shutting_down: [503, "server_error"],
  state_full: [503, "server_error"],
  storage_unavailable: [503, "server_error"],
} as const satisfies Record<string, readonly [number, string]>;

export type ErrorCode = keyof typeof ERROR_TABLE;

/** Whether a code of an error body is one of this server's. */
export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERROR_TABLE, code);
}

/** The body of every error answer; `param` names the offending field where there is one. */
export interface ErrorBody {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly type: string;
    readonly param?: string;
  };
}

export interface ServiceErrorOptions {
  /** The request field at fault, as a path: `messages[2].content`. */
  readonly param?: string;
  /** Seconds after which the same request may succeed; becomes Retry-After. */
  readonly retryAfterSecs?: number;
  readonly cause?: unknown;
}

/**
 * A failure that is reported to the caller. The message names the field and the fix, and never contains prompt
 * text or a path of the server. Any other exception is a bug and becomes `internal_error`.
 */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  readonly param: string | undefined;
  readonly retryAfterSecs: number | undefined;

  constructor(code: ErrorCode, message: string, options: ServiceErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "ServiceError";
    this.code = code;
    this.param = options.param;
    this.retryAfterSecs = options.retryAfterSecs;
  }

  get status(): number {
    return ERROR_TABLE[this.code][0];
  }

  toBody(): ErrorBody {
    const [, type] = ERROR_TABLE[this.code];
    const param = defined({ param: this.param });
    return { error: { code: this.code, message: this.message, type, ...param } };
  }

  /** Plain data for a message between processes. */
  toData(): ErrorData {
    return {
      code: this.code,
      message: this.message,
      ...defined({ param: this.param, retryAfterSecs: this.retryAfterSecs }),
    };
  }

  static fromData({ code, message, param, retryAfterSecs }: ErrorData): ServiceError {
    return new ServiceError(code, message, defined({ param, retryAfterSecs }));
  }
}

/** A ServiceError as it crosses a process boundary. */
export interface ErrorData {
  readonly code: ErrorCode;
  readonly message: string;
  readonly param?: string;
  readonly retryAfterSecs?: number;
}

/** That a field is wrong: `problem` follows its path and ends with the fix. */
export function invalidField(param: string, problem: string, cause?: unknown): ServiceError {
  return new ServiceError("invalid_request", `${param} ${problem}`, { param, cause });
}
