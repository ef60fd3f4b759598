// IndexedDB store of generated images, separate from conversations. If the browser forbids storage, images are lost when
// the page is closed. The database keeps its first name, so that images of earlier versions are found.

import { type DBSchema, type IDBPDatabase, openDB } from "idb";

/** A generated image. */
export interface StoredImage {
  readonly id: string;
  /** Unix time in milliseconds. */
  readonly created: number;
  readonly prompt: string;
  /** Requested model; "": the server's default. */
  readonly model: string;
  readonly width: number;
  readonly height: number;
  /** Generation time, seconds. */
  readonly secs: number;
  readonly data: Blob;
}

interface Schema extends DBSchema {
  pictures: { key: string; value: StoredImage };
}

let opened: Promise<IDBPDatabase<Schema> | undefined> | undefined;

function database(): Promise<IDBPDatabase<Schema> | undefined> {
  return (opened ??= openDB<Schema>("svc-pictures", 1, {
    upgrade: (db) => void db.createObjectStore("pictures", { keyPath: "id" }),
  }).catch(() => undefined));
}

export async function loadImages(): Promise<readonly StoredImage[]> {
  return (await (await database())?.getAll("pictures")) ?? [];
}

/** Rejects if the browser's storage is full. */
export async function saveImage(image: StoredImage): Promise<void> {
  await (await database())?.put("pictures", image);
}

export async function deleteImage(id: string): Promise<void> {
  await (await database())?.delete("pictures", id);
}
