// The part of the composition root that is about pictures: drawing them with a record of it, and the folder of their files.

import type { Settings } from "../config/settings.ts";
import { defined } from "../core/defined.ts";
import type { Draw, ImageEvent, ImageRequest } from "../core/image.ts";
import type { ImageMeter } from "../core/telemetry.ts";
import type { Models } from "../engine/models.ts";
import { ImageFolder } from "../images/folder.ts";

/** What the HTTP layer draws with. Its folder must be closed. */
export function openImages(
  models: Models,
  { settings, log }: { readonly settings: Settings; readonly log: (line: string) => void },
  meter: ImageMeter | undefined,
): { readonly draw: Draw; readonly imageFiles: ImageFolder } {
  const { image_dir: folder } = settings.server;
  return {
    draw: recordedDraw(models, log, meter),
    imageFiles: new ImageFolder(defined({ folder })),
  };
}

/** Draws with the served models; each picture is a line of the log and counted. */
function recordedDraw(models: Models, log: (line: string) => void, meter: ImageMeter | undefined): Draw {
  return async function* (request, signal): AsyncGenerator<ImageEvent> {
    const { id } = models.able("draws", request.model);
    let told = 0; // steps of the present picture
    meter?.began();
    try {
      for await (const event of models.draw(request, signal)) {
        if (event.type === "step" || event.type === "image") {
          const done = event.type === "step" ? event.step : event.steps;
          meter?.stepped(done - told);
          told = event.type === "step" ? done : 0;
        }
        if (event.type === "image") {
          meter?.drawn(event.seconds);
          log(`${id}: ${pictureLine(request, event)}`);
        }
        yield event;
      }
    } finally {
      meter?.ended();
    }
  };
}

function pictureLine(
  { count, width, height }: ImageRequest,
  { image, steps, seconds }: Extract<ImageEvent, { type: "image" }>,
): string {
  return `picture ${image + 1} of ${count}, ${width}x${height}, ${steps} steps in ${seconds.toFixed(2)} s`;
}
