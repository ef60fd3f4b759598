// Export and import of all that this browser keeps: conversations, assistants, prompts and generated images.

import { addAssistants, assistants } from "./assistants.ts";
import { assistantsIn } from "./assistant.ts";
import { exportedText, importAll, summaries } from "./conversations.ts";
import { foreignConversations } from "./foreign-exports.ts";
import { exportedImage, imagesIn } from "./image-transfer.ts";
import { addImages, images, openImages } from "./images.ts";
import { promptsIn } from "./prompt.ts";
import { addPrompts, prompts } from "./prompts.ts";
import { newId } from "./new-id.ts";
import { type Exported, jsonOf, readExport } from "./transfer.ts";
import { t } from "../texts/texts.ts";

const NO_PARTS = { assistants: undefined, prompts: undefined, images: undefined };

/** Numbers of things by their kinds. */
export interface Counts {
  readonly conversations: number;
  /** Of them, those that were there already. */
  readonly known: number;
  readonly assistants: number;
  readonly prompts: number;
  readonly images: number;
  /** Images and other files of messages that the export only names. */
  readonly leftOut: number;
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

/** Bytes of an unpacked list of conversations. */
const UNPACKED_BYTES_MAX = 1024 ** 3;

/** The lists of conversations in a file: a JSON file, or a zip archive as ChatGPT exports it. */
async function textsOf(file: File): Promise<readonly string[]> {
  if (!/\.zip$/i.test(file.name)) return [await file.text()];
  const { strFromU8, unzipSync } = await import("fflate");
  const found = unzipSync(new Uint8Array(await file.arrayBuffer()), {
    filter: ({ name, originalSize }) =>
      /(?:^|\/)conversations(?:-\d+)?\.json$/.test(name) && originalSize <= UNPACKED_BYTES_MAX,
  });
  const texts = Object.values(found).map((bytes) => strFromU8(bytes));
  if (texts.length === 0) throw new Error(t.errors.notAnExport);
  return texts;
}

/** Adds what an export file has, of svc or of another program. Throws an Error with a message for display if the file is invalid. */
export async function importEverything(file: File): Promise<Counts> {
  let leftOut = 0;
  const read = (await textsOf(file)).map((text): Exported => {
    const conversations = foreignConversations(jsonOf(text), newId, () => leftOut++);
    return conversations === undefined ? readExport(text) : { conversations, parts: NO_PARTS };
  });
  const conversations = read.flatMap((one) => one.conversations);
  const [{ parts } = { parts: NO_PARTS }] = read;
  const found = {
    assistants: assistantsIn(parts.assistants),
    prompts: promptsIn(parts.prompts),
    images: imagesIn(parts.images),
  };
  const added = importAll(conversations);
  addAssistants(found.assistants);
  addPrompts(found.prompts);
  await addImages(found.images);
  return {
    conversations: added,
    known: conversations.length - added,
    assistants: found.assistants.length,
    prompts: found.prompts.length,
    images: found.images.length,
    leftOut,
  };
}
