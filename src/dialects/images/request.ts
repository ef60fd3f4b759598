// Converts an images body to an ImageRequest. Owns the bounds of image sizes. Pure.

import { ServiceError } from "../../core/error.ts";
import type { ImageRequest } from "../../core/image.ts";
import { type Compat, type CompatMode, STRICT } from "../../core/compat.ts";
import { serveOrRefuse } from "../shared/compat.ts";
import { foldSeed } from "../shared/sampling.ts";
import { IMAGE_EDGE_MAX, IMAGE_EDGE_MIN, IMAGE_PIXELS_MAX } from "../shared/limits.ts";
import { isPresent } from "../shared/check.ts";
import { bodyChecker } from "../shared/unknown-fields.ts";
import { DEFAULT_HEIGHT, DEFAULT_WIDTH, ImageGenerationRequest } from "./schema.ts";

/** A parsed images request. */
export interface ImageCall {
  readonly request: ImageRequest;
  /** Answer with files on the server instead of inline images. */
  readonly asFiles: boolean;
  /** The form of the answer: that of the specification, or OpenAI's. */
  readonly form: CompatMode;
}

const checkBody = bodyChecker(ImageGenerationRequest);

/** OpenAI's names of the formats. */
const SPELLINGS: ReadonlyMap<unknown, string> = new Map([
  ["url", "Url"],
  ["b64_json", "B64Json"],
]);

/** Parses a request body; throws a ServiceError naming the field at fault and the accepted values. */
export function parseImageRequest(
  json: Readonly<Record<string, unknown>>,
  compat: Compat = STRICT,
): ImageCall {
  const { response_format: format } = json;
  const body = checkBody({ ...json, response_format: SPELLINGS.get(format) ?? format }, compat);
  const [width, height] = edgesOf(body, compat);
  if (width * height > IMAGE_PIXELS_MAX) {
    const problem = `x height is ${width * height} pixels; send at most ${IMAGE_PIXELS_MAX} pixels`;
    throw unsupported("width", problem);
  }
  return {
    request: {
      model: body.model ?? "default",
      prompt: body.prompt,
      count: body.n ?? 1,
      width,
      height,
      ...(isPresent(body.seed) ? { seed: foldSeed(body.seed) } : {}),
    },
    form: compat.mode,
    asFiles: (body.response_format ?? "Url") === "Url",
  };
}

/** Width and height; OpenAI's clients send both as `size`. */
function edgesOf({ size, width, height }: ImageGenerationRequest, compat: Compat): readonly [number, number] {
  const own = [width ?? DEFAULT_WIDTH, height ?? DEFAULT_HEIGHT] as const;
  if (!isPresent(size)) return own;
  const refusal = unsupported("size", "is not supported; send width and height in pixels");
  serveOrRefuse(compat, "image_form", refusal);
  if (isPresent(width) || isPresent(height)) {
    const message = "size and width or height exclude each other; send one of them";
    throw new ServiceError("contradictory_fields", message, { param: "size" });
  }
  if (size === "auto") return own;
  const [, wide, high] = /^(\d{1,5})x(\d{1,5})$/i.exec(String(size)) ?? [];
  const edges = [Number(wide), Number(high)] as const;
  if (edges.every((edge) => edge >= IMAGE_EDGE_MIN && edge <= IMAGE_EDGE_MAX)) return edges;
  throw unsupported(
    "size",
    `must be "auto" or WIDTHxHEIGHT, ${IMAGE_EDGE_MIN} to ${IMAGE_EDGE_MAX} pixels each`,
  );
}

function unsupported(field: string, problem: string): ServiceError {
  return new ServiceError("unsupported_value", `${field} ${problem}`, { param: field });
}
