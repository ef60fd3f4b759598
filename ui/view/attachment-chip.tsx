// One attached file, in the composer or in a sent message.

import { FileText, Music, X } from "lucide";
import { useState } from "preact/hooks";
import { messageOf } from "../api/client.ts";
import { PAGE_IMAGES_MAX, withPageImages } from "../state/attachments.ts";
import type { Attachment } from "../state/conversation.ts";
import { mediaTypeOf, shownAs } from "../state/media-types.ts";
import { type InputModality, type ModelCard, takes } from "../state/model-card.ts";
import { notify } from "../state/toasts.ts";
import { formatBytes } from "../format.ts";
import { Icon } from "./icon.tsx";
import { t } from "../texts/texts.ts";

interface ChipProps {
  readonly attachment: Attachment;
  /** Card of the selected model, in the composer. */
  readonly card?: ModelCard | undefined;
  /** How much of a file is sent, in the composer. */
  readonly note?: string | undefined;
  readonly onRemove?: () => void;
  readonly onChange?: (attachment: Attachment) => void;
}

export function AttachmentChip({ attachment, card, note, onRemove, onChange }: ChipProps) {
  const { name, bytes, data } = attachment;
  const modality = mediaTypeOf(attachment)?.modality;
  return (
    <li class="chip">
      {shownAs(attachment) === "image" ? (
        <img src={data} alt="" width={28} height={28} />
      ) : (
        <Icon node={modality === "audio" ? Music : FileText} size={16} />
      )}
      <span class="chip-name">{name}</span>
      <span class="faint size">{formatBytes(bytes)}</span>
      {onRemove !== undefined && modality !== undefined && <Note modality={modality} card={card} />}
      {onRemove !== undefined && modality === undefined && <FileNote note={note} />}
      {onChange !== undefined && attachment.pages !== undefined && takes(card, "image") === true && (
        <PageImages attachment={attachment} onChange={onChange} />
      )}
      {onRemove !== undefined && (
        <button type="button" class="ghost" onClick={onRemove} aria-label={t.common.removeNamed(name)}>
          <Icon node={X} size={14} />
        </button>
      )}
    </li>
  );
}

interface PageImagesProps {
  readonly attachment: Attachment;
  readonly onChange: (attachment: Attachment) => void;
}

/** Adds the pages of a PDF as images, or removes them. */
function PageImages({ attachment, onChange }: PageImagesProps) {
  const [isBusy, setBusy] = useState(false);
  const { images, pages = 0 } = attachment;
  const count = Math.min(pages, PAGE_IMAGES_MAX);
  const toggle = async (): Promise<void> => {
    if (images !== undefined) {
      const { images: _, ...text } = attachment;
      return onChange(text);
    }
    setBusy(true);
    try {
      onChange(await withPageImages(attachment));
    } catch (error) {
      notify(`${attachment.name}: ${messageOf(error)}`);
    }
    setBusy(false);
  };
  return (
    <label class="check faint">
      <input
        type="checkbox"
        checked={images !== undefined}
        disabled={isBusy}
        onChange={() => void toggle()}
      />
      {count < pages ? t.files.firstPagesAsImages(count) : t.files.pagesAsImages}
    </label>
  );
}

function FileNote({ note }: { readonly note: string | undefined }) {
  return note === undefined ? null : <span class="faint">{note}</span>;
}

/** Warns that the model does not accept an attachment, or may not. */
function Note({
  modality,
  card,
}: {
  readonly modality: InputModality;
  readonly card: ModelCard | undefined;
}) {
  const isAccepted = takes(card, modality);
  if (isAccepted === true) return null;
  const input = modality === "video" ? "image" : modality;
  const text = isAccepted === false ? t.files.noInput[input] : t.files.needsInput[input];
  return <span class="faint">{text}</span>;
}
