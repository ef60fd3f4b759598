// One picture of the gallery.

import { Download, Repeat, Trash2 } from "lucide";
import { useEffect, useState } from "preact/hooks";
import { formatSecs } from "../format.ts";
import { saveFile } from "../save-file.ts";
import type { Picture } from "../state/picture-store.ts";
import { removePicture } from "../state/pictures.ts";
import { Icon } from "../view/icon.tsx";
import { Thumbnail } from "../view/message-files.tsx";

/** Longest part of a prompt in a file's name, characters. */
const NAME_CHARS_MAX = 40;

interface PictureViewProps {
  readonly picture: Picture;
  readonly onReuse: () => void;
}

export function PictureView({ picture, onReuse }: PictureViewProps) {
  const { prompt, model, width, height, secs, data } = picture;
  const source = useObjectUrl(data);
  const facts = [`${width} × ${height}`, formatSecs(secs), ...(model === "" ? [] : [model])];
  return (
    <li class="picture">
      {source !== undefined && <Thumbnail name={prompt} source={source} />}
      <p class="picture-prompt">{prompt}</p>
      <p class="faint">{facts.join(" · ")}</p>
      <div class="picture-actions">
        <button
          type="button"
          class="ghost"
          onClick={() => saveFile(fileName(prompt, data), [data])}
          aria-label={`Download ${prompt}`}
          title="Download"
        >
          <Icon node={Download} size={16} />
        </button>
        <button
          type="button"
          class="ghost"
          onClick={onReuse}
          aria-label={`Use these words again: ${prompt}`}
          title="Use these words again"
        >
          <Icon node={Repeat} size={16} />
        </button>
        <button
          type="button"
          class="ghost"
          onClick={() => void removePicture(picture)}
          aria-label={`Delete ${prompt}`}
          title="Delete"
        >
          <Icon node={Trash2} size={16} />
        </button>
      </div>
    </li>
  );
}

/** An address of the data for as long as it is shown. */
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
  const words = prompt
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, "-")
    .slice(0, NAME_CHARS_MAX)
    .replaceAll(/^-|-$/g, "");
  return `${words || "picture"}.${type.replace("image/", "").replace("jpeg", "jpg")}`;
}
