// An images body → an ImageRequest. Pure.

import { ServiceError } from "../../core/error.ts";
import type { ImageRequest } from "../../core/image.ts";
import { IMAGE_PIXELS_MAX } from "../shared/limits.ts";
import { checker, isPresent } from "../shared/check.ts";
import { DEFAULT_HEIGHT, DEFAULT_WIDTH, ImageGenerationRequest } from "./schema.ts";

/** What a body asks for: the pictures, and whether they are files of the server. */
export interface ImageCall {
  readonly request: ImageRequest;
  readonly asFiles: boolean;
}

const checkBody = checker(ImageGenerationRequest);

/** How the base dialect's clients spell the formats. */
const SPELLINGS: ReadonlyMap<unknown, string> = new Map([
  ["url", "Url"],
  ["b64_json", "B64Json"],
]);

/** Parses a request body; throws a ServiceError naming the field at fault and the accepted values. */
export function parseImageRequest(json: Readonly<Record<string, unknown>>): ImageCall {
  const { response_format: format } = json;
  const body = checkBody({ ...json, response_format: SPELLINGS.get(format) ?? format });
  if (isPresent(body.size)) throw unsupported("size", "is not supported: give width and height in pixels");
  const width = body.width ?? DEFAULT_WIDTH;
  const height = body.height ?? DEFAULT_HEIGHT;
  if (width * height > IMAGE_PIXELS_MAX) {
    const most = `a picture has at most ${IMAGE_PIXELS_MAX} pixels`;
    throw unsupported("width", `x height is ${width * height}, and ${most}: ask for a smaller one`);
  }
  return {
    request: { model: body.model ?? "default", prompt: body.prompt, count: body.n ?? 1, width, height },
    asFiles: (body.response_format ?? "Url") === "Url",
  };
}

function unsupported(field: string, problem: string): ServiceError {
  return new ServiceError("unsupported_value", `${field} ${problem}`, { param: field });
}
