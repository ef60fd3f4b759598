// HTTP client of a running svc server. Knows its address, its key and its error format, but no route.

import type { Settings } from "../config/settings.ts";
import { processEnvironment } from "../config/sources.ts";
import { defined } from "../core/defined.ts";
import { inUrl, socketPathOf } from "../core/listen-addresses.ts";
import type { Preset } from "../core/preset.ts";
import { readSecrets } from "../core/secret.ts";

/** Settings that say where the server is. */
export const SERVER_FLAGS = ["server.host", "server.port", "server.api_keys"] as const;

/** A server answers at once or is not there, milliseconds. Loading and answering have no bound. */
const CONNECT_MS = 2000;

export interface MediaFormats {
  readonly formats: readonly string[];
  readonly formats_with_ffmpeg: readonly string[];
}

/** A card of GET /v1/models, as far as the command line reads it. */
export interface ServedModel {
  readonly id: string;
  readonly kind: string;
  readonly status: string;
  readonly pinned?: boolean;
  readonly owned_by: string;
  readonly context_length?: number;
  readonly modalities?: readonly string[];
  readonly media?: {
    readonly image?: MediaFormats & { readonly max_images: number };
    readonly audio?: MediaFormats & { readonly max_seconds: number };
    readonly video?: MediaFormats & { readonly max_frames: number };
  };
  readonly capabilities?: Readonly<Record<string, boolean>>;
  readonly family?: string;
  readonly parameters?: number;
  readonly chat_template?: string;
  readonly quantization?: string;
  readonly license?: string;
  readonly size_bytes?: number;
  readonly memory_bytes?: number;
  readonly resident_bytes?: number;
  readonly defaults?: Omit<Preset, "system">;
  readonly defaults_from?: Readonly<Record<string, string>>;
  readonly root?: string;
  readonly parent?: string;
}

/** An answer with an error status. The message is the server's. */
export class AnswerError extends Error {
  readonly code: string;
  readonly param: string | undefined;

  constructor(message: string, code: string, param: string | undefined) {
    super(message);
    this.code = code;
    this.param = param;
  }
}

export class ServerClient {
  /** For messages: an address without a slash at its end, or a UNIX socket. */
  readonly url: string;
  /** The key that requests have. */
  readonly key: string | undefined;
  private readonly base: string;
  private readonly socket: string | undefined;
  private readonly headers: Readonly<Record<string, string>>;

  /** The server of the settings, or one at another address, without a slash at its end. */
  constructor({ host, port, api_keys: keys }: Settings["server"], address?: string) {
    const reached = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
    this.socket = address === undefined ? socketPathOf(host) : undefined;
    const usual = this.socket === undefined ? `http://${inUrl(reached)}:${port}` : "http://localhost";
    this.base = address ?? usual;
    this.url = this.socket === undefined ? this.base : host;
    [this.key] = readSecrets("server.api_keys", (keys ?? []).slice(0, 1), processEnvironment());
    this.headers = this.key === undefined ? {} : { authorization: `Bearer ${this.key}` };
  }

  /** Models and adapters, the default one first. */
  async models(signal?: AbortSignal): Promise<readonly ServedModel[]> {
    const body = await this.json("/v1/models", undefined, signal);
    if (typeof body !== "object" || body === null || !("data" in body) || !Array.isArray(body.data))
      throw new Error(`${this.url} is not a svc server. Name another address with --host and --port.`);
    return body.data as readonly ServedModel[];
  }

  /**
   * The models of a server that is there and is svc; undefined where none answers in time. Throws AnswerError for one that refuses the
   * key: its caller would take another model's answers for its own.
   */
  async probe(): Promise<readonly ServedModel[] | undefined> {
    const signal = AbortSignal.timeout(CONNECT_MS);
    try {
      const root = await this.json("/api/version", undefined, signal);
      const isServer = typeof root === "object" && root !== null && "svc_version" in root;
      return isServer ? await this.models(signal) : undefined;
    } catch (error) {
      if (error instanceof AnswerError && error.code === KEY_REFUSED) throw error;
      return undefined;
    }
  }

  /** GETs JSON, or POSTs it where there is a body. Throws AnswerError, or a sentence for a server that is not reached. */
  async json(path: string, body?: unknown, signal?: AbortSignal): Promise<unknown> {
    const response = await this.send(path, body, signal);
    return response.json();
  }

  /** The same with the answer as it comes. */
  async send(path: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
    const init =
      body === undefined
        ? { headers: this.headers }
        : {
            method: "POST",
            headers: { ...this.headers, "content-type": "application/json" },
            body: JSON.stringify(body),
          };
    let response: Response;
    try {
      response = await fetch(this.base + path, { ...init, ...defined({ signal, unix: this.socket }) });
    } catch (error) {
      if (signal?.aborted === true) throw error;
      throw new Error(
        `No server answers at ${this.url}. Start one with: svc serve. For another address: --host and --port.`,
        { cause: error },
      );
    }
    if (!response.ok) throw await answerError(response);
    return response;
  }
}

const KEY_REFUSED = "invalid_api_key";

async function answerError(response: Response): Promise<AnswerError> {
  const body: unknown = await response.json().catch(() => undefined);
  const error = typeof body === "object" && body !== null && "error" in body ? body.error : undefined;
  const { message, code, param } = (typeof error === "object" && error !== null ? error : {}) as {
    readonly message?: string;
    readonly code?: string;
    readonly param?: string;
  };
  if (response.status === 401)
    return new AnswerError(
      "The server requires a key: --api-keys KEY or SVC_API_KEYS=KEY.",
      KEY_REFUSED,
      undefined,
    );
  return new AnswerError(message ?? `the server answered with status ${response.status}`, code ?? "", param);
}
