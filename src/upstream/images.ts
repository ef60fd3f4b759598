// Image generation by an upstream.

import type { ImageEvent, ImageRequest } from "../core/image.ts";
import { type Failure, garbageFailure } from "./failure.ts";
import type { UpstreamServer } from "./server.ts";
import { askJson } from "./whole.ts";
import { readImages } from "./wire.ts";

/** All events of a request at once: this API reports no steps. */
export async function drawUpstream(
  { prompt, count, width, height, seed }: ImageRequest,
  server: UpstreamServer,
  signal: AbortSignal,
): Promise<readonly ImageEvent[] | Failure> {
  const isSvc = server.facts.engine === "svc";
  const body = {
    model: server.options.model,
    prompt,
    n: count,
    ...(isSvc ? { width, height } : { size: `${width}x${height}` }),
    ...(seed === undefined || isSvc ? {} : { seed }),
    response_format: "b64_json",
  };
  const startedMs = performance.now();
  const call = { path: "/images/generations", body, isRepeatable: false };
  const answer = await askJson(server, call, signal, readImages);
  if (!("data" in answer)) return answer;
  if (answer.data.length !== count) return garbageFailure();
  const seconds = (performance.now() - startedMs) / 1000 / count;
  const images = answer.data.map(({ b64_json: png }, image): ImageEvent => ({
    type: "image",
    image,
    png,
    steps: 0,
    seconds,
  }));
  return [...images, { type: "finish" }];
}
