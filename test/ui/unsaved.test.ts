// What pages that are left keep of their conversations, for two pages of one browser.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { emptyConversation } from "../../ui/state/transfer.ts";
import type * as unsavedOf from "../../ui/state/unsaved.ts";

type Page = typeof unsavedOf;

/** A page of its own: the query makes the module load anew. */
const page = async (name: string): Promise<Page> =>
  (await import(`${join(import.meta.dir, "../../ui/state/unsaved.ts")}?${name}`)) as Page;

const usual = Object.getOwnPropertyDescriptor(globalThis, "localStorage");
beforeAll(() => {
  // As in browsers, keys are the object's own properties.
  const methods = {
    getItem(this: Record<string, string>, key: string) {
      return this[key] ?? null;
    },
    setItem(this: Record<string, string>, key: string, value: string) {
      this[key] = value;
    },
    removeItem(this: Record<string, string>, key: string) {
      delete this[key];
    },
  };
  Object.defineProperty(globalThis, "localStorage", { value: Object.create(methods), configurable: true });
});
afterAll(() => {
  if (usual === undefined) Reflect.deleteProperty(globalThis, "localStorage");
  else Object.defineProperty(globalThis, "localStorage", usual);
});

test("a page drops what it has kept itself, and not what another one has left", async () => {
  const [left, staying, next] = [await page("left"), await page("staying"), await page("next")];
  const conversation = emptyConversation("a", 1);
  left.keepUnsaved({ ...conversation, title: "Asked at the last moment" });
  staying.keepUnsaved(conversation);
  staying.dropUnsaved("a");
  const [kept, ...more] = next.unsaved();
  expect(more).toEqual([]);
  expect(kept?.conversation.title).toBe("Asked at the last moment");
  next.dropUnsaved("a", kept?.key);
  expect(next.unsaved()).toEqual([]);
});
