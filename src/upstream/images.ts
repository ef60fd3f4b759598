// Image generation by an upstream.

import type { Caller } from "../core/caller.ts";
import { defined } from "../core/defined.ts";
import type { ImageEvent, ImageRequest } from "../core/image.ts";
import type { Body } from "./common-body.ts";
import { type Failure, garbageFailure } from "./failure.ts";
import type { UpstreamServer } from "./server.ts";
import { askJson } from "./whole.ts";
import { readBytes } from "./http.ts";
import { readImages, type WireImage } from "./wire.ts";

/** Beginning of a data URL, which svc has in place of plain base64. */
const DATA_URL = /^data:[^,]*,/;

/** All events of a request at once: this API reports no steps. */
export async function drawUpstream(
  request: ImageRequest,
  server: UpstreamServer,
  signal: AbortSignal,
  caller: Caller,
): Promise<readonly ImageEvent[] | Failure> {
  const { count } = request;
  const startedMs = performance.now();
  const call = { path: "/images/generations", body: bodyOf(request, server), isRepeatable: false, caller };
  const answer = await askJson(server, call, signal, readImages);
  if (!("data" in answer)) return answer;
  if (answer.data.length !== count) return garbageFailure();
  const found = await Promise.all(answer.data.map((one) => pngOf(one, signal)));
  const seconds = (performance.now() - startedMs) / 1000 / count;
  const images = found.flatMap((png, image): readonly ImageEvent[] =>
    png === undefined ? [] : [{ type: "image", image, png, steps: 0, seconds }],
  );
  return images.length === count ? [...images, { type: "finish" }] : garbageFailure();
}

/** An image in base64; servers that answer with addresses alone are asked for the bytes, without the key. */
async function pngOf({ b64_json: data, url }: WireImage, signal: AbortSignal): Promise<string | undefined> {
  if (typeof data === "string" && data !== "") return data.replace(DATA_URL, "");
  if (typeof url !== "string" || !/^https?:/i.test(url)) return undefined;
  try {
    const response = await fetch(url, { redirect: "manual", signal });
    return response.ok ? (await readBytes(response)).toBase64() : undefined;
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

function bodyOf(
  { prompt, count, width, height, seed }: ImageRequest,
  { options, facts }: UpstreamServer,
): Body {
  return {
    model: options.model,
    prompt,
    n: count,
    ...(facts.engine === "svc" ? { width, height } : { size: `${width}x${height}` }),
    ...(facts.isOpenAi ? {} : defined({ seed })),
    // OpenAI's newer models answer in base64 always, and refuse the field.
    ...(facts.isOpenAi && options.model.startsWith("gpt-") ? {} : { response_format: "b64_json" }),
  };
}
