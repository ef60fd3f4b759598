// Image generation and speech requests.

import { send, sendForJson } from "./client.ts";
import { t } from "../texts/texts.ts";

export interface ImageBody {
  readonly prompt: string;
  /** Absent: the server's default model. */
  readonly model?: string;
  /** Pixels. */
  readonly width: number;
  readonly height: number;
}

/** Generates one image. Throws ApiError. */
export async function generateImage(body: ImageBody, signal: AbortSignal): Promise<Blob> {
  const { data } = await sendForJson<{ readonly data: readonly { readonly b64_json?: string | null }[] }>(
    "v1/images/generations",
    { method: "POST", body: { ...body, n: 1, response_format: "B64Json" }, signal },
  );
  const [, type = "image/png", base64] =
    /^(?:data:(?<type>[^;,]+);base64,)?(?<base64>.*)$/s.exec(data[0]?.b64_json ?? "") ?? [];
  if (!base64) throw new Error(t.errors.noImage);
  const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  return new Blob([bytes], { type });
}

export interface SpeechBody {
  readonly input: string;
  /** Absent: the server's default model. */
  readonly model?: string;
}

/** Speech, streamed while it is generated. */
export interface SpeechStream {
  /** Sample rate, Hz. */
  readonly rate: number;
  /** Samples of one channel, 16 bits, little-endian; chunks may end within a sample. */
  readonly chunks: ReadableStream<Uint8Array<ArrayBuffer>>;
}

/** Generates speech. Throws ApiError. */
export async function speakText(body: SpeechBody, signal: AbortSignal): Promise<SpeechStream> {
  const response = await send("v1/audio/speech", {
    method: "POST",
    body: { ...body, response_format: "pcm" },
    signal,
  });
  const rate = Number(response.headers.get("x-audio-sample-rate"));
  if (response.body === null || !(rate > 0)) throw new Error(t.errors.noAudio);
  return { rate, chunks: response.body };
}
