// Pictures in a database of the browser, apart from conversations. Without one they are there until the page is closed.

import { type DBSchema, type IDBPDatabase, openDB } from "idb";

/** A picture that was drawn. */
export interface Picture {
  readonly id: string;
  /** Unix time in milliseconds. */
  readonly created: number;
  readonly prompt: string;
  /** As it was asked for; "" is the server's default one. */
  readonly model: string;
  readonly width: number;
  readonly height: number;
  /** Time that it took. */
  readonly secs: number;
  readonly data: Blob;
}

interface Schema extends DBSchema {
  pictures: { key: string; value: Picture };
}

let opened: Promise<IDBPDatabase<Schema> | undefined> | undefined;

function database(): Promise<IDBPDatabase<Schema> | undefined> {
  return (opened ??= openDB<Schema>("svc-pictures", 1, {
    upgrade: (db) => void db.createObjectStore("pictures", { keyPath: "id" }),
  }).catch(() => undefined));
}

export async function loadPictures(): Promise<readonly Picture[]> {
  return (await (await database())?.getAll("pictures")) ?? [];
}

/** Rejects when the browser has no room. */
export async function savePicture(picture: Picture): Promise<void> {
  await (await database())?.put("pictures", picture);
}

export async function forgetPicture(id: string): Promise<void> {
  await (await database())?.delete("pictures", id);
}
