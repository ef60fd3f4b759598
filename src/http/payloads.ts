// What a request and its answer said, for the log of payloads: one record once the answer has ended. Secrets are left out here, so that
// no record with one exists.

import { redacted, redactedEvents, redactedHeaders, redactedText } from "./redact.ts";
import type { ObservedRequest } from "../core/telemetry.ts";

/** One request with its answer. */
export interface Payload {
  readonly time: string;
  readonly request_id: string;
  readonly method: string;
  readonly route: string | null;
  readonly status: number;
  readonly model: string;
  readonly seconds: number;
  readonly error: string | null;
  readonly client_left: boolean;
  readonly headers: Readonly<Record<string, string>>;
  /** The body as JSON; null where it was none. */
  readonly request: unknown;
  /** JSON, a text, or of a stream the data of its events; of anything else its type. */
  readonly response: unknown;
}

/** Takes a record. */
export type TakePayload = (payload: Payload) => void;

/** Of a streamed answer; what is beyond is left out, and said. */
const STREAM_BYTES_MAX = 4 << 20;
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\b/;
const STREAM_TYPES = /^(?:text\/event-stream|application\/x-ndjson)\b/;

/** The payload of a request while it is answered. */
export class PayloadRecord {
  private readonly headers: Headers;
  private request: unknown = null;
  private pieces: Uint8Array[] = [];
  private bytes = 0;
  private whole: Promise<unknown> | undefined;

  constructor(headers: Headers) {
    this.headers = headers;
  }

  /** The body was read. */
  asked(json: unknown): void {
    this.request = json;
  }

  /** A part of a stream was sent. */
  sent(part: Uint8Array): void {
    if (this.bytes < STREAM_BYTES_MAX) this.pieces.push(part.slice());
    this.bytes += part.byteLength;
  }

  /** The answer is there; as a stream its parts follow. */
  answered(response: Response): void {
    const type = response.headers.get("content-type") ?? "";
    if (STREAM_TYPES.test(type)) return;
    if (!JSON_TYPE.test(type) && !type.startsWith("text/")) {
      this.whole = Promise.resolve({ content_type: type });
      return;
    }
    const text = response.clone().text();
    this.whole = JSON_TYPE.test(type) ? text.then(parsed) : text;
  }

  /** The answer has ended. */
  async finish(seen: ObservedRequest, take: TakePayload): Promise<void> {
    const { id, method, route, status, model, seconds, error, clientLeft } = seen;
    const time = new Date().toISOString();
    const whole = await this.whole?.then((answer) => redacted(answer)).catch(() => null);
    take({
      time,
      request_id: id,
      method,
      route: route ?? null,
      status,
      model,
      seconds,
      error: error ?? null,
      client_left: clientLeft,
      headers: redactedHeaders(this.headers),
      request: redacted(this.request),
      response: this.whole === undefined ? redactedEvents(this.events()) : whole,
    });
  }

  /** The data of each event, or line, that was sent. */
  private events(): readonly unknown[] {
    const text = Buffer.concat(this.pieces).toString();
    const lines = text.split(/\r?\n/).flatMap((line) => {
      const data = line.startsWith("data:") ? line.slice("data:".length).trim() : line;
      return data === "" || /^(?::|event:|id:|retry:)/.test(data) ? [] : [parsed(data)];
    });
    const left = this.bytes - Buffer.byteLength(text);
    return left > 0 ? [...lines, `… (${left} more bytes)`] : lines;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return redactedText(text);
  }
}
