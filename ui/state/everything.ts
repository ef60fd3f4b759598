// Export and import of all that this browser keeps: conversations, assistants, prompts and generated images.

import { addAssistants, assistants } from "./assistants.ts";
import { assistantsIn } from "./assistant.ts";
import { exportedText, importAll, summaries } from "./conversations.ts";
import { exportedImage, imagesIn } from "./image-transfer.ts";
import { addImages, images, openImages } from "./images.ts";
import { promptsIn } from "./prompt.ts";
import { addPrompts, prompts } from "./prompts.ts";
import { readExport } from "./transfer.ts";

/** Numbers of things by their kinds. */
export interface Counts {
  readonly conversations: number;
  readonly assistants: number;
  readonly prompts: number;
  readonly images: number;
}

/** Text of an export file; undefined if there is nothing to export. */
export async function exportEverything(): Promise<string | undefined> {
  await openImages();
  const ids = summaries.value.map(({ id }) => id);
  const parts = [ids, assistants.value, prompts.value, images.value];
  if (parts.every((part) => part.length === 0)) return undefined;
  return exportedText(ids, {
    assistants: assistants.value,
    prompts: prompts.value,
    images: await Promise.all(images.value.map(exportedImage)),
  });
}

/** Adds what an export file has. Throws an Error with a message for display if the file is invalid. */
export async function importEverything(text: string): Promise<Counts> {
  const { conversations, parts } = readExport(text);
  const found = {
    assistants: assistantsIn(parts.assistants),
    prompts: promptsIn(parts.prompts),
    images: imagesIn(parts.images),
  };
  importAll(conversations);
  addAssistants(found.assistants);
  addPrompts(found.prompts);
  await addImages(found.images);
  return {
    conversations: conversations.length,
    assistants: found.assistants.length,
    prompts: found.prompts.length,
    images: found.images.length,
  };
}
