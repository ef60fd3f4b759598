// The image gallery of this browser, and the running generation.

import { signal } from "@preact/signals";
import { messageOf } from "../api/client.ts";
import { generateImage } from "../api/media.ts";
import { newId } from "./new-id.ts";
import { deleteImage, loadImages, type StoredImage, saveImage } from "./image-store.ts";
import { notify } from "./toasts.ts";
import { t } from "../texts/texts.ts";

export interface GenerateRequest extends Pick<StoredImage, "prompt" | "model" | "width" | "height"> {
  readonly count: number;
}

/** A running generation of images. */
export interface ImageJob {
  readonly count: number;
  /** Finished images. */
  readonly done: number;
  /** Start time, milliseconds of performance.now(). */
  readonly startMs: number;
}

/** All images, latest first. */
export const images = signal<readonly StoredImage[]>([]);
export const imageJob = signal<ImageJob | undefined>(undefined);
/** Error of the last generation, if it failed. */
export const imageError = signal<string | undefined>(undefined);

let abort: AbortController | undefined;
let isLoaded = false;

/** Loads the stored images, once. */
export async function openImages(): Promise<void> {
  if (isLoaded) return;
  isLoaded = true;
  const stored = await loadImages();
  images.value = [...images.value, ...stored].toSorted((a, b) => b.created - a.created);
}

/** Generates images one by one. Each is shown when it is ready, and stopping keeps the finished ones. */
export async function generateImages({ count, ...request }: GenerateRequest): Promise<void> {
  if (imageJob.value !== undefined) return;
  abort = new AbortController();
  const { signal: stopped } = abort;
  const startMs = performance.now();
  imageError.value = undefined;
  try {
    for (let done = 0; done < count; done++) {
      imageJob.value = { count, done, startMs };
      await add(await generate(request, stopped));
    }
  } catch (error) {
    if (!stopped.aborted) imageError.value = messageOf(error);
  } finally {
    imageJob.value = undefined;
  }
}

export function stopImageJob(): void {
  abort?.abort();
}

/** Deletes an image; the notice has an undo button. */
export async function removeImage(image: StoredImage): Promise<void> {
  images.value = images.value.filter(({ id }) => id !== image.id);
  notify(t.media.deleted, { label: t.common.undo, run: () => void add(image) });
  await deleteImage(image.id);
}

/** Adds images of an export file; those of the same id are replaced. */
export async function addImages(added: readonly StoredImage[]): Promise<void> {
  await openImages();
  const ids = new Set(added.map(({ id }) => id));
  images.value = images.value.filter(({ id }) => !ids.has(id));
  for (const image of added) await add(image);
}

async function generate(request: Omit<GenerateRequest, "count">, stopped: AbortSignal): Promise<StoredImage> {
  const { model, ...body } = request;
  const startMs = performance.now();
  const data = await generateImage({ ...body, ...(model === "" ? {} : { model }) }, stopped);
  const secs = (performance.now() - startMs) / 1000;
  return { id: newId(), created: Date.now(), ...request, secs, data };
}

async function add(image: StoredImage): Promise<void> {
  images.value = [image, ...images.value].toSorted((a, b) => b.created - a.created);
  try {
    await saveImage(image);
  } catch (error) {
    notify(t.errors.imageNotSaved(messageOf(error)));
  }
}
