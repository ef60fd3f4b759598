// Wire schemas of image generation: request and response.

import { type Static, Type } from "@sinclair/typebox";
import { orNull } from "../../core/schema-fields.ts";
import {
  IMAGE_COUNT_MAX,
  IMAGE_EDGE_MAX,
  IMAGE_EDGE_MIN,
  IMAGE_PIXELS_MAX,
  IMAGE_PROMPT_CHARS_MAX,
} from "../shared/limits.ts";

export const DEFAULT_WIDTH = 1280;
export const DEFAULT_HEIGHT = 720;

const ImageGenerationResponseFormat = Type.Union([Type.Literal("Url"), Type.Literal("B64Json")], {
  $id: "ImageGenerationResponseFormat",
  description:
    "`Url`: a file on the server. `B64Json`: the image inline. `url` and `b64_json` are synonyms. Default `Url`.",
});

const edge = (which: string, standard: number) =>
  orNull(
    Type.Integer({
      minimum: IMAGE_EDGE_MIN,
      maximum: IMAGE_EDGE_MAX,
      description: `${which} in pixels; width x height is at most ${IMAGE_PIXELS_MAX}. Default ${standard}.`,
    }),
  );
const ignored = Type.Optional(Type.Unknown({ description: "Accepted without effect." }));

export const ImageGenerationRequest = Type.Object(
  {
    prompt: Type.String({
      minLength: 1,
      maxLength: IMAGE_PROMPT_CHARS_MAX,
      description: "Description of the images.",
    }),
    model: orNull(
      Type.String({ description: "Model id; `default` or absent selects the first image model." }),
    ),
    n: orNull(
      Type.Integer({ minimum: 1, maximum: IMAGE_COUNT_MAX, description: "Number of images. Default 1." }),
    ),
    width: edge("Width", DEFAULT_WIDTH),
    height: edge("Height", DEFAULT_HEIGHT),
    response_format: orNull(ImageGenerationResponseFormat),
    size: Type.Optional(
      Type.Unknown({
        description: "With `compat = clients`, `512x512` or `auto`; else send `width` and `height`.",
      }),
    ),
    seed: orNull(Type.Integer({ description: "Seed of the first image; random by default." })),
    output_format: orNull(Type.Literal("png", { description: "The one format that there is." })),
    stream: orNull(Type.Literal(false, { description: "Images are not streamed." })),
    quality: ignored,
    style: ignored,
    steps: ignored,
    guidance_scale: ignored,
    user: ignored,
  },
  {
    $id: "ImageGenerationRequest",
    description: "Body of an images request.",
    additionalProperties: true,
    examples: [
      { model: "default", prompt: "A lighthouse in a storm, oil on canvas.", width: 512, height: 512 },
    ],
  },
);
export type ImageGenerationRequest = Static<typeof ImageGenerationRequest>;

const ImageData = Type.Object(
  {
    url: Type.Optional(
      Type.String({ description: "Name of the PNG file on the server; with `compat = clients`, its URL." }),
    ),
    content_url: Type.Optional(Type.String({ description: "URL path of the file on this server." })),
    b64_json: Type.Optional(
      Type.String({
        description: "The PNG file as a `data:image/png;base64,` URL; with `compat = clients`, base64 alone.",
      }),
    ),
  },
  { $id: "ImageData", description: "A generated image." },
);

export const ImageGenerationResponse = Type.Object(
  {
    created: Type.Integer({ minimum: 0, description: "Unix seconds." }),
    data: Type.Array(ImageData),
  },
  { $id: "ImageGenerationResponse", description: "The generated images, in order." },
);
export type ImageGenerationResponse = Static<typeof ImageGenerationResponse>;
