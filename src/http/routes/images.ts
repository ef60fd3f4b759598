// POST /v1/images/generations: body → images → body. GET /v1/images/files/{name}: a generated image in a file.
// Addresses need no API key, since `<img>` and chat clients send none: a random UUID names the file, which is gone after an hour.

import { Elysia } from "elysia";
import { assert } from "../../core/assert.ts";
import type { Caller } from "../../core/caller.ts";
import { ServiceError } from "../../core/error.ts";
import type { ImageRequest } from "../../core/image.ts";
import { parseImageRequest } from "../../dialects/images/request.ts";
import { imageBody, type SentImage } from "../../dialects/images/response.ts";
import { ImageGenerationRequest, ImageGenerationResponse } from "../../dialects/images/schema.ts";
import { requestCompat } from "../compat.ts";
import type { HttpDeps } from "../deps.ts";
import { readModelRequest, type StandIn, withStandIn } from "../model-body.ts";
import { callerOf } from "../observe.ts";
import type { ApiComponents } from "../openapi.ts";
import { cancelled, type Client, clientOf, refuseWhileDraining } from "../run.ts";

const FILES = "/v1/images/files";
const STAND_IN: StandIn = {
  names: new Set(["dall-e-2", "dall-e-3", "gpt-image-1", "gpt-image-1-mini", "gpt-image-1.5"]),
  kind: "image",
  note: "image_model",
};

/** Image routes. */
export function imageRoutes(deps: HttpDeps, components: ApiComponents) {
  return new Elysia()
    .post("/v1/images/generations", ({ request }) => answerImages(deps, request), {
      parse: "none", // body.ts reads it
      detail: {
        operationId: "create_image",
        description: "By an image model; several images of a request are generated one after the other.",
        tags: ["Images"],
        summary: "Generate images from a text",
        requestBody: components.body(ImageGenerationRequest),
        responses: components.answers("The images.", ImageGenerationResponse),
      },
    })
    .get(`${FILES}/:name`, ({ params }) => imageFile(deps, params.name), {
      detail: {
        operationId: "get_image_file",
        description:
          "For answers in the format `url`; the name is unpredictable and is valid for a limited time.",
        tags: ["Images"],
        summary: "Download a generated image",
        responses: {
          "200": {
            description: "The PNG file.",
            content: { "image/png": { schema: { type: "string", format: "binary" } } },
          },
        },
      },
    });
}

async function answerImages(deps: HttpDeps, request: Request): Promise<Response> {
  refuseWhileDraining(deps);
  const sent = await readModelRequest(deps, request);
  const compat = requestCompat(deps);
  const form = compat.mode === "clients" ? formOf(sent) : {};
  const call = parseImageRequest({ ...withStandIn(deps, sent, STAND_IN), ...form }, compat);
  const images: SentImage[] = [];
  for await (const png of drawn(deps, call.request, clientOf(request))) {
    images.push(call.asFiles ? await asFile(deps, png, callerOf(request)) : { type: "inline", png });
  }
  const created = Math.floor(Date.now() / 1000);
  return Response.json(
    imageBody(images, { created, ...(call.form === "clients" ? { origin: originOf(request) } : {}) }),
  );
}

/** OpenAI's newer models answer in base64, and their clients do not ask for it. */
function formOf({ model, response_format: format }: Readonly<Record<string, unknown>>) {
  const isNewer = typeof model === "string" && model.startsWith("gpt-image-");
  return isNewer && (format ?? undefined) === undefined ? { response_format: "b64_json" } : {};
}

/** This server's address as the client has it, behind a proxy too. It tells the client alone, so its headers may say what they want. */
function originOf({ headers }: Request): string {
  const scheme = headers.get("x-forwarded-proto") === "https" ? "https" : "http";
  return `${scheme}://${headers.get("host") ?? "localhost"}`;
}

/** The images as they are ready, PNG in base64. Throws when fewer than requested are generated. */
async function* drawn(
  deps: HttpDeps,
  request: ImageRequest,
  { caller, signal }: Client,
): AsyncGenerator<string> {
  let count = 0;
  let isFinished = false;
  for await (const event of deps.draw(request, signal, caller)) {
    if (event.type === "error") throw ServiceError.fromData(event.error);
    isFinished = event.type === "finish";
    if (event.type !== "image") continue;
    count++;
    yield event.png;
  }
  if (signal.aborted) throw cancelled();
  assert(isFinished && count === request.count, "every image was generated");
}

async function asFile(deps: HttpDeps, png: string, caller: Caller): Promise<SentImage> {
  const { name, path } = await deps.imageFiles.save(Buffer.from(png, "base64"), caller);
  return { type: "file", file: path, path: `${FILES}/${name}` };
}

async function imageFile(deps: HttpDeps, name: string): Promise<Response> {
  const file = deps.imageFiles.find(name);
  if (file === undefined) {
    const message = "no image has this name; image files are kept for one hour";
    throw new ServiceError("file_not_found", message, { param: "name" });
  }
  return new Response(file, {
    headers: { "content-type": "image/png", "x-content-type-options": "nosniff" },
  });
}
