// One image of the gallery.

import { Download, Repeat, Trash2 } from "lucide";
import { useEffect, useState } from "preact/hooks";
import { formatSecs } from "../format.ts";
import { saveFile } from "../save-file.ts";
import type { StoredImage } from "../state/image-store.ts";
import { removeImage } from "../state/images.ts";
import { Icon } from "../view/icon.tsx";
import { Thumbnail } from "../view/message-files.tsx";
import { t } from "../texts/texts.ts";

/** Longest part of a prompt in a file name, characters. */
const NAME_CHARS_MAX = 40;

interface ImageViewProps {
  readonly image: StoredImage;
  readonly onReuse: () => void;
}

export function ImageView({ image, onReuse }: ImageViewProps) {
  const { prompt, model, width, height, secs, data } = image;
  const source = useObjectUrl(data);
  const facts = [`${width} × ${height}`, formatSecs(secs), ...(model === "" ? [] : [model])];
  return (
    <li class="gallery-item">
      {source !== undefined && <Thumbnail name={prompt} source={source} />}
      <p class="gallery-prompt">{prompt}</p>
      <p class="faint">{facts.join(" · ")}</p>
      <div class="gallery-actions">
        <button
          type="button"
          class="ghost"
          onClick={() => saveFile(fileName(prompt, data), [data])}
          aria-label={t.common.downloadNamed(prompt)}
          title={t.common.download}
        >
          <Icon node={Download} size={16} />
        </button>
        <button
          type="button"
          class="ghost"
          onClick={onReuse}
          aria-label={t.media.reuseNamed(prompt)}
          title={t.media.reuse}
        >
          <Icon node={Repeat} size={16} />
        </button>
        <button
          type="button"
          class="ghost"
          onClick={() => void removeImage(image)}
          aria-label={t.common.deleteNamed(prompt)}
          title={t.common.delete}
        >
          <Icon node={Trash2} size={16} />
        </button>
      </div>
    </li>
  );
}

/** Object URL of the data, revoked on unmount. */
function useObjectUrl(data: Blob): string | undefined {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(data);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [data]);
  return url;
}

function fileName(prompt: string, { type }: Blob): string {
  const slug = prompt
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, "-")
    .slice(0, NAME_CHARS_MAX)
    .replaceAll(/^-|-$/g, "");
  return `${slug || "image"}.${type.replace("image/", "").replace("jpeg", "jpg")}`;
}
