// Converts an images body to an ImageRequest. Owns the bounds of image sizes. Pure.

import { ServiceError } from "../../core/error.ts";
import type { ImageRequest } from "../../core/image.ts";
import { IMAGE_PIXELS_MAX } from "../shared/limits.ts";
import { checker, isPresent } from "../shared/check.ts";
import { DEFAULT_HEIGHT, DEFAULT_WIDTH, ImageGenerationRequest } from "./schema.ts";

/** A parsed images request; `asFiles`: answer with files on the server instead of inline images. */
export interface ImageCall {
  readonly request: ImageRequest;
  readonly asFiles: boolean;
}

const checkBody = checker(ImageGenerationRequest);

/** OpenAI's names of the formats. */
const SPELLINGS: ReadonlyMap<unknown, string> = new Map([
  ["url", "Url"],
  ["b64_json", "B64Json"],
]);

/** Parses a request body; throws a ServiceError naming the field at fault and the accepted values. */
export function parseImageRequest(json: Readonly<Record<string, unknown>>): ImageCall {
  const { response_format: format } = json;
  const body = checkBody({ ...json, response_format: SPELLINGS.get(format) ?? format });
  if (isPresent(body.size)) throw unsupported("size", "is not supported; send width and height in pixels");
  const width = body.width ?? DEFAULT_WIDTH;
  const height = body.height ?? DEFAULT_HEIGHT;
  if (width * height > IMAGE_PIXELS_MAX) {
    const problem = `x height is ${width * height} pixels; send at most ${IMAGE_PIXELS_MAX} pixels`;
    throw unsupported("width", problem);
  }
  return {
    request: { model: body.model ?? "default", prompt: body.prompt, count: body.n ?? 1, width, height },
    asFiles: (body.response_format ?? "Url") === "Url",
  };
}

function unsupported(field: string, problem: string): ServiceError {
  return new ServiceError("unsupported_value", `${field} ${problem}`, { param: field });
}
