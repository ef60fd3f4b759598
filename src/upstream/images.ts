// Image generation by an upstream.

import type { ImageEvent, ImageRequest } from "../core/image.ts";
import type { Body } from "./common-body.ts";
import { type Failure, garbageFailure } from "./failure.ts";
import type { UpstreamServer } from "./server.ts";
import { askJson } from "./whole.ts";
import { readImages } from "./wire.ts";

/** Beginning of a data URL, which svc has in place of plain base64. */
const DATA_URL = /^data:[^,]*,/;

/** All events of a request at once: this API reports no steps. */
export async function drawUpstream(
  request: ImageRequest,
  server: UpstreamServer,
  signal: AbortSignal,
): Promise<readonly ImageEvent[] | Failure> {
  const { count } = request;
  const startedMs = performance.now();
  const call = { path: "/images/generations", body: bodyOf(request, server), isRepeatable: false };
  const answer = await askJson(server, call, signal, readImages);
  if (!("data" in answer)) return answer;
  if (answer.data.length !== count) return garbageFailure();
  const seconds = (performance.now() - startedMs) / 1000 / count;
  const images = answer.data.map(({ b64_json: data }, image): ImageEvent => {
    return { type: "image", image, png: data.replace(DATA_URL, ""), steps: 0, seconds };
  });
  return [...images, { type: "finish" }];
}

function bodyOf({ prompt, count, width, height }: ImageRequest, { options, facts }: UpstreamServer): Body {
  return {
    model: options.model,
    prompt,
    n: count,
    ...(facts.engine === "svc" ? { width, height } : { size: `${width}x${height}` }),
    // OpenAI's newer models answer in base64 always, and refuse the field.
    ...(facts.isOpenAi && options.model.startsWith("gpt-") ? {} : { response_format: "b64_json" }),
  };
}
