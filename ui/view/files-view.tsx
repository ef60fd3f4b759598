// Files that tools produced for an answer.

import { Download, FileText, TriangleAlert } from "lucide";
import { messageOf, send } from "../api/client.ts";
import type { ProducedFile } from "../state/conversation.ts";
import { notify } from "../state/toasts.ts";
import { formatBytes } from "../format.ts";
import { Icon } from "./icon.tsx";
import { saveFile } from "../save-file.ts";
import { t } from "../texts/texts.ts";

/** MIME types shown as images. */
const PREVIEW_TYPES = new Set(["image/png", "image/jpeg", "image/webp", "image/gif"]);

export function FilesView({ files }: { readonly files: readonly ProducedFile[] }) {
  return (
    <ul class="chips" aria-label={t.files.title}>
      {files.map((file) => (
        <li key={file.id} class="produced">
          <Preview file={file} />
          <FileChip file={file} />
        </li>
      ))}
    </ul>
  );
}

function Preview({
  file: { mime_type: mime = "", data_base64: data, name },
}: {
  readonly file: ProducedFile;
}) {
  if (data === undefined || !PREVIEW_TYPES.has(mime)) return null;
  return <img src={`data:${mime};base64,${data}`} alt={name} />;
}

function FileChip({ file }: { readonly file: ProducedFile }) {
  const { name, bytes, message } = file;
  if (message !== undefined) {
    return (
      <span class="chip problem">
        <Icon node={TriangleAlert} size={16} />
        <span class="chip-name">{name}</span> {message}
      </span>
    );
  }
  return (
    <button
      type="button"
      class="chip"
      onClick={() => void download(file)}
      title={t.common.downloadNamed(name)}
    >
      <Icon node={FileText} size={16} />
      <span class="chip-name">{name}</span>
      <span class="faint">{formatBytes(bytes)}</span>
      <Icon node={Download} size={15} />
    </button>
  );
}

/** Saves a file from its event if that has the whole content, otherwise from the server, which keeps files for a while. */
async function download({ id, name, text, data_base64: base64 }: ProducedFile): Promise<void> {
  try {
    if (text !== undefined) saveFile(name, [text]);
    else if (base64 !== undefined)
      saveFile(name, [Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))]);
    else saveFile(name, [await (await send(`v1/files/${encodeURIComponent(id)}/content`)).blob()]);
  } catch (error) {
    notify(t.errors.notDownloaded(name, messageOf(error)));
  }
}
