// A file that a message brings.

import { FileText, Music, X } from "lucide";
import type { Attachment } from "../state/conversation.ts";
import { formatBytes } from "../format.ts";
import { Icon } from "./icon.tsx";

interface ChipProps {
  readonly attachment: Attachment;
  readonly onRemove?: () => void;
}

export function AttachmentChip({ attachment: { name, mime, bytes, data }, onRemove }: ChipProps) {
  const kind = mime.split("/", 1)[0];
  return (
    <li class="chip">
      {kind === "image" ? (
        <img src={data} alt="" width={28} height={28} />
      ) : (
        <Icon node={kind === "audio" ? Music : FileText} size={16} />
      )}
      <span class="chip-name">{name}</span>
      <span class="faint">{formatBytes(bytes)}</span>
      {onRemove !== undefined && (kind === "image" || kind === "audio") && (
        <span class="faint">needs a model for {kind === "image" ? "images" : "audio"}</span>
      )}
      {onRemove !== undefined && (
        <button type="button" class="ghost" onClick={onRemove} aria-label={`Remove ${name}`}>
          <Icon node={X} size={14} />
        </button>
      )}
    </li>
  );
}
