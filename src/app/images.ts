// Image generation of the server: from settings to a recorded Draw and the folder of image files.

import type { Settings } from "../config/settings.ts";
import { defined } from "../core/defined.ts";
import type { Draw } from "../core/image.ts";
import type { ImageMeter } from "../core/telemetry.ts";
import type { Models } from "../engine/models.ts";
import { ImageFolder } from "../images/folder.ts";
import { recordedDraw } from "../images/record.ts";

/** Generates images for the HTTP layer. The folder must be closed. */
export function openImages(
  models: Models,
  { settings, log }: { readonly settings: Settings; readonly log: (line: string) => void },
  meter: ImageMeter | undefined,
): { readonly draw: Draw; readonly imageFiles: ImageFolder } {
  return {
    draw: recordedDraw({
      draw: (request, signal, caller) => models.draw(request, signal, caller),
      idOf: (name) => models.able("draws", name).id,
      meter,
      log,
    }),
    imageFiles: new ImageFolder(defined({ folder: settings.server.image_dir })),
  };
}
