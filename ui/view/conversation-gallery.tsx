// Dialog with all images of the shown conversation.

import { signal } from "@preact/signals";
import { imagesOf } from "../state/conversation-images.ts";
import { current } from "../state/conversations.ts";
import { t } from "../texts/texts.ts";
import { Dialog } from "./dialog.tsx";
import { Thumbnail } from "./message-files.tsx";

export const isGalleryOpen = signal(false);

export function ConversationGallery() {
  const conversation = current.value;
  if (!isGalleryOpen.value || conversation === undefined) return null;
  return (
    <Dialog title={t.chat.images} isWide onClose={() => (isGalleryOpen.value = false)}>
      <ul class="chips message-files">
        {imagesOf(conversation).map(({ name, source }, index) => (
          <li key={index}>
            <Thumbnail name={name} source={source} />
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
