// Downloads with their progress: pause, resume, cancel.

import { Pause, Play, Trash2 } from "lucide";
import type { HubPull } from "../../src/core/hub.ts";
import { formatBytes, formatSecs } from "../format.ts";
import { discardPull, pausePull, pull as resume, pulls } from "../state/hub.ts";
import { Icon } from "../view/icon.tsx";
import { t } from "../texts/texts.ts";

/** All downloads that are not complete. */
export function Pulls() {
  const open = pulls.value.filter(({ status }) => status !== "completed");
  if (open.length === 0) return null;
  return (
    <section class="card" aria-label={t.models.downloads}>
      <h2>{t.models.downloads}</h2>
      <ul class="pulls">
        {open.map((pull) => (
          <PullView key={pull.id} pull={pull} />
        ))}
      </ul>
    </section>
  );
}

function PullView({ pull }: { readonly pull: HubPull }) {
  const { id, source, model, status, total_bytes: total, completed_bytes: completed, error } = pull;
  const isActive = status === "downloading" || status === "queued";
  return (
    <li>
      <div class="row">
        <strong class="grow">{model}</strong>
        {isActive ? (
          <button
            type="button"
            class="ghost"
            aria-label={t.models.pause(model)}
            onClick={() => void pausePull(id)}
          >
            <Icon node={Pause} size={16} />
          </button>
        ) : (
          <button
            type="button"
            class="ghost"
            aria-label={t.models.resume(model)}
            onClick={() => void resume(source)}
          >
            <Icon node={Play} size={16} />
          </button>
        )}
        <button
          type="button"
          class="ghost"
          aria-label={t.models.discard(model)}
          onClick={() => void discardPull(id)}
        >
          <Icon node={Trash2} size={16} />
        </button>
      </div>
      <progress value={completed} max={Math.max(1, total)} aria-label={t.models.downloadOf(model)} />
      <p class="faint">{progressOf(pull)}</p>
      {error !== null && <p class="problem">{error.message}</p>}
    </li>
  );
}

function progressOf(pull: HubPull): string {
  const { status, total_bytes: total, completed_bytes: completed } = pull;
  const { bytes_per_second: speed, seconds_left: left } = pull;
  const amount = t.models.amount(formatBytes(completed), formatBytes(total));
  if (status === "queued") return t.models.queued(amount);
  if (status === "paused") return t.models.paused(amount);
  if (status === "failed") return t.models.failed(amount);
  return [
    amount,
    ...(speed === 0 ? [] : [`${formatBytes(speed)}/s`]),
    ...(left === null ? [] : [t.models.left(formatSecs(left))]),
  ].join(" · ");
}
