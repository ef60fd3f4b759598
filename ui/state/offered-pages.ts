// The pages that this server and this person have.

import { computed } from "@preact/signals";
import { hasImages, hasSpeech } from "./capabilities.ts";
import { isAdmin } from "./me.ts";
import { OTHER_PAGES } from "./route.ts";

/** In the order of the list. */
export const offeredPages = computed(() => {
  const isOffered = {
    images: hasImages.value,
    speech: hasSpeech.value,
    models: isAdmin.value,
    metrics: isAdmin.value,
    system: isAdmin.value,
    usage: true,
  };
  return OTHER_PAGES.filter((name) => isOffered[name]);
});
