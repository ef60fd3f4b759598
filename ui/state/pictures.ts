// The pictures of this browser, and those that are being drawn.

import { signal } from "@preact/signals";
import { messageOf } from "../api/client.ts";
import { drawImage } from "../api/media.ts";
import { newId } from "./new-id.ts";
import { forgetPicture, loadPictures, type Picture, savePicture } from "./picture-store.ts";
import { notify } from "./toasts.ts";

export interface DrawRequest {
  readonly prompt: string;
  /** "" is the server's default one. */
  readonly model: string;
  /** Pixels. */
  readonly width: number;
  readonly height: number;
  readonly count: number;
}

/** Pictures that are being drawn. */
export interface Drawing {
  readonly count: number;
  /** How many are there already. */
  readonly done: number;
  /** When it began, milliseconds of performance.now(). */
  readonly startMs: number;
}

/** All of them, the latest first. */
export const pictures = signal<readonly Picture[]>([]);
export const drawing = signal<Drawing | undefined>(undefined);
/** Why the last ones were not drawn. */
export const drawError = signal<string | undefined>(undefined);

let abort: AbortController | undefined;
let isLoaded = false;

/** Brings what the browser keeps into memory, once. */
export async function openPictures(): Promise<void> {
  if (isLoaded) return;
  isLoaded = true;
  const kept = await loadPictures();
  pictures.value = [...pictures.value, ...kept].toSorted((a, b) => b.created - a.created);
}

/** Draws one after the other: each is there when it is ready, and stopping keeps those that are. */
export async function draw({ count, ...request }: DrawRequest): Promise<void> {
  if (drawing.value !== undefined) return;
  abort = new AbortController();
  const { signal: stopped } = abort;
  const startMs = performance.now();
  drawError.value = undefined;
  try {
    for (let done = 0; done < count; done++) {
      drawing.value = { count, done, startMs };
      await add(await drawn(request, stopped));
    }
  } catch (error) {
    if (!stopped.aborted) drawError.value = messageOf(error);
  } finally {
    drawing.value = undefined;
  }
}

export function stopDrawing(): void {
  abort?.abort();
}

/** Deletes a picture; the notice offers to take that back. */
export async function removePicture(picture: Picture): Promise<void> {
  pictures.value = pictures.value.filter(({ id }) => id !== picture.id);
  notify("Deleted the picture.", { label: "Undo", run: () => void add(picture) });
  await forgetPicture(picture.id);
}

async function drawn(request: Omit<DrawRequest, "count">, stopped: AbortSignal): Promise<Picture> {
  const { model, ...body } = request;
  const startMs = performance.now();
  const data = await drawImage({ ...body, ...(model === "" ? {} : { model }) }, stopped);
  const secs = (performance.now() - startMs) / 1000;
  return { id: newId(), created: Date.now(), ...request, secs, data };
}

async function add(picture: Picture): Promise<void> {
  pictures.value = [picture, ...pictures.value].toSorted((a, b) => b.created - a.created);
  try {
    await savePicture(picture);
  } catch (error) {
    notify(`This picture could not be saved in the browser: ${messageOf(error)}`);
  }
}
