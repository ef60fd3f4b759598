// The pages that this server and this person have.

import { computed } from "@preact/signals";
import { hasImages, hasSpeech } from "./capabilities.ts";
import { isAdmin } from "./me.ts";
import { OTHER_PAGES, type Route } from "./route.ts";

const FOR_ADMINS: ReadonlySet<Route["page"]> = new Set(["models", "metrics", "system"]);

/** Whether a page, which may be a bookmark from times of another key, is closed to this person. */
export function isClosed(page: Route["page"]): boolean {
  return !isAdmin.value && FOR_ADMINS.has(page);
}

/** In the order of the list. */
export const offeredPages = computed(() =>
  OTHER_PAGES.filter((name) => {
    if (name === "images") return hasImages.value;
    return name === "speech" ? hasSpeech.value : !isClosed(name);
  }),
);
