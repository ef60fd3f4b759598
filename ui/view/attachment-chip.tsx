// A file that a message brings, or will bring.

import { FileText, Music, X } from "lucide";
import type { Attachment } from "../state/conversation.ts";
import { mediaTypeOf } from "../state/media-types.ts";
import { type Modality, type ModelCard, takes } from "../state/model-card.ts";
import { formatBytes } from "../format.ts";
import { Icon } from "./icon.tsx";

interface ChipProps {
  readonly attachment: Attachment;
  /** Of the model that will be asked, where it is not sent yet. */
  readonly card?: ModelCard | undefined;
  readonly onRemove?: () => void;
}

export function AttachmentChip({ attachment, card, onRemove }: ChipProps) {
  const { name, bytes, data } = attachment;
  const modality = mediaTypeOf(attachment)?.modality;
  return (
    <li class="chip">
      {modality === "image" ? (
        <img src={data} alt="" width={28} height={28} />
      ) : (
        <Icon node={modality === "audio" ? Music : FileText} size={16} />
      )}
      <span class="chip-name">{name}</span>
      <span class="faint">{formatBytes(bytes)}</span>
      {onRemove !== undefined && modality !== undefined && <Note modality={modality} card={card} />}
      {onRemove !== undefined && (
        <button type="button" class="ghost" onClick={onRemove} aria-label={`Remove ${name}`}>
          <Icon node={X} size={14} />
        </button>
      )}
    </li>
  );
}

/** What becomes of a picture or recording with this model, where it may not be what people expect. */
function Note({ modality, card }: { readonly modality: Modality; readonly card: ModelCard | undefined }) {
  const isTaken = takes(card, modality);
  if (isTaken === true) return null;
  const what = modality === "image" ? "images" : "audio";
  const perceives = modality === "image" ? "see" : "hear";
  const text =
    isTaken === false ? `as a file: this model does not ${perceives} it` : `needs a model for ${what}`;
  return <span class="faint">{text}</span>;
}
