// Image generation with a record: each image is logged and metered.

import type { Draw, ImageEvent, ImageRequest } from "../core/image.ts";
import type { ImageMeter } from "../core/telemetry.ts";

export interface RecordedDrawDeps {
  readonly draw: Draw;
  /** Id of the model that a request names. */
  readonly idOf: (model: string) => string;
  readonly meter?: ImageMeter | undefined;
  readonly log: (line: string) => void;
}

/** A Draw that logs and meters each image. */
export function recordedDraw({ draw, idOf, meter, log }: RecordedDrawDeps): Draw {
  return async function* (request, signal, caller): AsyncGenerator<ImageEvent> {
    const id = idOf(request.model);
    let metered = 0; // steps of the present image
    meter?.began();
    try {
      for await (const event of draw(request, signal, caller)) {
        if (event.type === "step" || event.type === "image") {
          const done = event.type === "step" ? event.step : event.steps;
          meter?.stepped(done - metered);
          metered = event.type === "step" ? done : 0;
        }
        if (event.type === "image") {
          meter?.drawn(event.seconds);
          log(`${id}: ${imageLine(request, event)}`);
        }
        yield event;
      }
    } finally {
      meter?.ended();
    }
  };
}

function imageLine(
  { count, width, height }: ImageRequest,
  { image, steps, seconds }: Extract<ImageEvent, { type: "image" }>,
): string {
  return `image ${image + 1} of ${count}, ${width}x${height}, ${steps} steps in ${seconds.toFixed(2)} s`;
}
