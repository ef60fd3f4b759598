// Image generation page: form, progress and gallery.

import { Sparkles } from "lucide";
import { useEffect, useState } from "preact/hooks";
import { formatSecs } from "../format.ts";
import { generateImages, imageError, imageJob, openImages, images, stopImageJob } from "../state/images.ts";
import { type ImagePrefs, prefs, setPrefs } from "../state/prefs.ts";
import { NumberField, SelectField } from "../view/fields.tsx";
import { KindPicker } from "./kind-picker.tsx";
import { NoModel } from "./no-model.tsx";
import { PageFrame } from "./page-frame.tsx";
import { ImageView } from "./image-view.tsx";
import { Problem } from "./problem.tsx";
import { PromptForm } from "./prompt-form.tsx";
import { t } from "../texts/texts.ts";

/** Cap on images per generation. */
const COUNT_MAX = 10;

const sizes = () =>
  [
    ["512x512", "512 × 512"],
    ["768x768", "768 × 768"],
    ["1024x1024", "1024 × 1024"],
    ["1280x720", t.media.wide],
    ["720x1280", t.media.tall],
    ["", t.media.custom],
  ] as const;

export function ImagesPage() {
  const [prompt, setPrompt] = useState("");
  useEffect(() => void openImages(), []);
  return (
    <PageFrame label={t.pages.images} isWide>
      <NoModel kind="image" page="docs/images.md" />
      <GenerateForm {...{ prompt, setPrompt }} />
      <p role="status" class="faint">
        {imageJob.value !== undefined && <Progress />}
      </p>
      {imageError.value !== undefined && <Problem text={imageError.value} />}
      <ul class="gallery" aria-label={t.media.generated}>
        {images.value.map((image) => (
          <ImageView key={image.id} image={image} onReuse={() => setPrompt(image.prompt)} />
        ))}
      </ul>
      {images.value.length === 0 && <p class="faint">{t.media.noImages}</p>}
    </PageFrame>
  );
}

interface GenerateFormProps {
  readonly prompt: string;
  readonly setPrompt: (prompt: string) => void;
}

function GenerateForm({ prompt, setPrompt }: GenerateFormProps) {
  const { image } = prefs.value;
  const { model, width, height, count } = image;
  const set = (part: Partial<ImagePrefs>): void => setPrefs({ image: { ...image, ...part } });
  return (
    <PromptForm
      label={t.media.prompt}
      rows={3}
      text={prompt}
      setText={setPrompt}
      isBusy={imageJob.value !== undefined}
      onSend={() => void generateImages({ prompt: prompt.trim(), model, width, height, count })}
      onStop={stopImageJob}
      send={{ label: t.media.generate, icon: Sparkles }}
    >
      <SizeFields {...{ width, height, set }} />
      <NumberField
        label={t.media.count}
        hint="1"
        min={1}
        max={COUNT_MAX}
        step={1}
        value={count}
        onChange={(next) => set({ count: bounded(next, COUNT_MAX) })}
      />
      <KindPicker
        label={t.common.model}
        kind="image"
        value={model}
        onChange={(next) => set({ model: next })}
      />
    </PromptForm>
  );
}

interface SizeFieldsProps extends Pick<ImagePrefs, "width" | "height"> {
  readonly set: (part: Partial<ImagePrefs>) => void;
}

/** Bound of the input fields, pixels; the server has its own limit. */
const EDGE_MAX = 8192;

function SizeFields({ width, height, set }: SizeFieldsProps) {
  const [isFree, setFree] = useState(!sizes().some(([size]) => size === `${width}x${height}`));
  const choose = (size: string): void => {
    setFree(size === "");
    const [nextWidth = width, nextHeight = height] = size === "" ? [] : size.split("x").map(Number);
    set({ width: nextWidth, height: nextHeight });
  };
  const edge = { hint: "512", min: 1, max: EDGE_MAX, step: 1 };
  return (
    <>
      <SelectField
        label={t.media.size}
        options={sizes()}
        value={isFree ? "" : `${width}x${height}`}
        onChange={choose}
      />
      {isFree && (
        <>
          <NumberField
            label={t.media.width}
            {...edge}
            value={width}
            onChange={(next) => set({ width: bounded(next, EDGE_MAX) })}
          />
          <NumberField
            label={t.media.height}
            {...edge}
            value={height}
            onChange={(next) => set({ height: bounded(next, EDGE_MAX) })}
          />
        </>
      )}
    </>
  );
}

function bounded(value: number | null, max: number): number {
  return Math.max(1, Math.min(max, Math.round(value ?? 1)));
}

/** Elapsed time. Servers do not report the progress of an image. */
function Progress() {
  const [, setTick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setTick((tick) => tick + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  const { count, done, startMs } = imageJob.value ?? { count: 0, done: 0, startMs: 0 };
  const secs = Math.floor((performance.now() - startMs) / 1000);
  return (
    <>
      <span class="dot" aria-hidden="true" />
      {count === 1 ? t.media.progressOne : t.media.progress(done + 1, count)}
      {/* Hidden from screen readers, which would read it every second. */}
      <span aria-hidden="true"> · {secs < 60 ? `${secs} s` : formatSecs(secs)}</span>
    </>
  );
}
