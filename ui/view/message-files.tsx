// Attachments of a sent message: images as thumbnails, audio with a player, other files by name.

import { useState } from "preact/hooks";
import type { Attachment } from "../state/conversation.ts";
import { shownAs } from "../state/media-types.ts";
import { AttachmentChip } from "./attachment-chip.tsx";
import { Dialog } from "./dialog.tsx";
import { t } from "../texts/texts.ts";

export function MessageFiles({ attachments }: { readonly attachments: readonly Attachment[] }) {
  if (attachments.length === 0) return null;
  return (
    <ul class="chips message-files" aria-label={t.files.attachments}>
      {attachments.map((attachment, index) => (
        <FileView key={index} attachment={attachment} />
      ))}
    </ul>
  );
}

function FileView({ attachment }: { readonly attachment: Attachment }) {
  const modality = shownAs(attachment);
  if (modality === "image") {
    return (
      <li>
        <Thumbnail name={attachment.name} source={attachment.data} />
      </li>
    );
  }
  if (modality === "audio" || modality === "video") {
    const Player = modality;
    return (
      <li class={modality}>
        <span class="chip-name faint">{attachment.name}</span>
        <Player controls preload="metadata" src={attachment.data} aria-label={attachment.name} />
      </li>
    );
  }
  return <AttachmentChip attachment={attachment} />;
}

interface ThumbnailProps {
  readonly name: string;
  /** A data or blob URL. */
  readonly source: string;
}

/** A small image that opens enlarged in a dialog. */
export function Thumbnail({ name, source }: ThumbnailProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        class="thumbnail"
        onClick={() => setOpen(true)}
        aria-label={t.files.enlarge(name)}
      >
        <img src={source} alt={name} />
      </button>
      {isOpen && (
        <Dialog title={name} isWide onClose={() => setOpen(false)}>
          <img class="enlarged" src={source} alt={t.files.enlarged(name)} />
        </Dialog>
      )}
    </>
  );
}
