// Pictures and speech of the server.

import { send, sendForJson } from "./client.ts";

export interface ImageBody {
  readonly prompt: string;
  /** Absent: the server's default one. */
  readonly model?: string;
  /** Pixels. */
  readonly width: number;
  readonly height: number;
}

/** Draws one picture. Throws ApiError. */
export async function drawImage(body: ImageBody, signal: AbortSignal): Promise<Blob> {
  const { data } = await sendForJson<{ readonly data: readonly { readonly b64_json?: string | null }[] }>(
    "v1/images/generations",
    { method: "POST", body: { ...body, n: 1, response_format: "B64Json" }, signal },
  );
  const [, type = "image/png", base64] =
    /^(?:data:(?<type>[^;,]+);base64,)?(?<base64>.*)$/s.exec(data[0]?.b64_json ?? "") ?? [];
  if (!base64) throw new Error("The server answered without a picture.");
  const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  return new Blob([bytes], { type });
}

export interface SpeechBody {
  readonly input: string;
  /** Absent: the server's default one. */
  readonly model?: string;
}

/** Speech as it is made. */
export interface SpeechStream {
  /** Samples a second. */
  readonly rate: number;
  /** Samples of one channel, 16 bits each, least byte first; chunks may end within a sample. */
  readonly chunks: ReadableStream<Uint8Array<ArrayBuffer>>;
}

/** Lets a text be spoken. Throws ApiError. */
export async function speakText(body: SpeechBody, signal: AbortSignal): Promise<SpeechStream> {
  const response = await send("v1/audio/speech", {
    method: "POST",
    body: { ...body, response_format: "pcm" },
    signal,
  });
  const rate = Number(response.headers.get("x-audio-sample-rate"));
  if (response.body === null || !(rate > 0)) throw new Error("The server answered without speech.");
  return { rate, chunks: response.body };
}
