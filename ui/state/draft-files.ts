// IndexedDB store of the files of drafts, in a database of its own. Bounded in drafts, bytes and age; the oldest go first. If the
// browser forbids storage, files of drafts are lost when the page is closed.

import { type DBSchema, type IDBPDatabase, openDB } from "idb";
import type { Attachment } from "./conversation.ts";

/** Drafts whose files are kept, bytes of all of them, and their age, milliseconds. */
const DRAFTS_MAX = 20;
const BYTES_MAX = 256 * 1024 * 1024;
const AGE_MAX_MS = 30 * 86_400_000;

interface Kept {
  readonly id: string;
  /** Unix time in milliseconds. */
  readonly changed: number;
  readonly bytes: number;
  readonly attachments: readonly Attachment[];
}

interface Schema extends DBSchema {
  drafts: { key: string; value: Kept; indexes: { age: [number, number] } };
}

let opened: Promise<IDBPDatabase<Schema> | undefined> | undefined;

function database(): Promise<IDBPDatabase<Schema> | undefined> {
  return (opened ??= openDB<Schema>("svc-drafts", 1, {
    upgrade: (db) => {
      const store = db.createObjectStore("drafts", { keyPath: "id" });
      store.createIndex("age", ["changed", "bytes"]); // with the bytes, so that no file is read to count them
    },
  }).catch(() => undefined));
}

export async function loadDraftFiles(id: string): Promise<readonly Attachment[]> {
  return (await (await database())?.get("drafts", id))?.attachments ?? [];
}

/** Stores the files of a draft; none deletes them. False if they are too large; rejects if the browser's storage is full. */
export async function saveDraftFiles(id: string, attachments: readonly Attachment[]): Promise<boolean> {
  const transaction = (await database())?.transaction("drafts", "readwrite");
  if (transaction === undefined) return true;
  const bytes = attachments.reduce((sum, attachment) => sum + bytesOf(attachment), 0);
  const isKept = attachments.length > 0 && bytes <= BYTES_MAX;
  if (isKept) await transaction.store.put({ id, changed: Date.now(), bytes, attachments });
  else await transaction.store.delete(id);
  let left = { drafts: DRAFTS_MAX, bytes: BYTES_MAX };
  let at = await transaction.store.index("age").openKeyCursor(null, "prev");
  for (; at !== null; at = await at.continue()) {
    const [changed, size] = at.key;
    left = { drafts: left.drafts - 1, bytes: left.bytes - size };
    const isOld = changed < Date.now() - AGE_MAX_MS;
    if (isOld || left.drafts < 0 || left.bytes < 0) await transaction.store.delete(at.primaryKey);
  }
  await transaction.done;
  return isKept || attachments.length === 0;
}

/** Characters of what is stored of a file, a byte each. */
function bytesOf({ data, text = "", images = [] }: Attachment): number {
  return data.length + text.length + images.reduce((sum, image) => sum + image.length, 0);
}
