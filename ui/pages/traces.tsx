// The last requests to models as waterfalls: which step took how long. Shown where the server keeps traces.

import { useEffect, useState } from "preact/hooks";
import type { ShownTrace } from "../../src/core/tracing.ts";
import { isUnavailable, messageOf, sendForJson } from "../api/client.ts";
import { notify } from "../state/toasts.ts";
import { t } from "../texts/texts.ts";

/** Traces in the list; the server keeps more. */
export function Traces() {
  const [traces, setTraces] = useState<readonly ShownTrace[]>();
  const load = (): void => {
    sendForJson<{ readonly traces: readonly ShownTrace[] }>("ui/day/traces").then(
      (found) => setTraces(found.traces),
      (error: unknown) => {
        if (!isUnavailable(error)) notify(messageOf(error));
      },
    );
  };
  useEffect(load, []);
  if (traces === undefined) return null;
  return (
    <section class="card">
      <header>
        <h2>{t.traces.title}</h2>
        <span class="grow" />
        <button type="button" onClick={load}>
          {t.system.refresh}
        </button>
      </header>
      {traces.length === 0 ? (
        <p class="faint">{t.traces.nothing}</p>
      ) : (
        traces.map((trace) => <Trace key={trace.traceId + trace.requestId} trace={trace} />)
      )}
    </section>
  );
}

function Trace({ trace }: { readonly trace: ShownTrace }) {
  const [isOpen, setOpen] = useState(false);
  const { attributes, name, at, seconds, error } = trace;
  const facts = [attributes["gen_ai.request.model"], attributes["user.name"], error].filter(
    (one) => one !== undefined,
  );
  return (
    <details class="trace" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <span class="faint">{new Date(at * 1000).toLocaleTimeString(t.locale.dates)}</span> {name}{" "}
        <span class="faint">{facts.join(" · ")}</span> <strong>{spanText(seconds)}</strong>
      </summary>
      {isOpen && <Waterfall trace={trace} />}
    </details>
  );
}

function Waterfall({ trace: { spans, seconds, traceId } }: { readonly trace: ShownTrace }) {
  const share = (part: number): string =>
    `${Math.min(100, (100 * part) / Math.max(seconds, 1e-6)).toFixed(2)}%`;
  return (
    <>
      <table class="waterfall">
        <tbody>
          {spans.map(({ name, startSeconds, seconds: length, depth, error }, index) => (
            <tr key={index}>
              <th scope="row" style={{ paddingInlineStart: `${depth - 1}rem` }}>
                {name}
              </th>
              <td class="lane">
                <span
                  class={error === undefined ? "span" : "span failed"}
                  style={{ marginInlineStart: share(startSeconds), width: share(length) }}
                />
              </td>
              <td>{spanText(length)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="faint">{t.traces.id(traceId)}</p>
    </>
  );
}

function spanText(seconds: number): string {
  const digits = { maximumFractionDigits: 1 };
  return seconds < 1
    ? `${(seconds * 1000).toLocaleString(t.locale.dates, digits)} ms`
    : `${seconds.toLocaleString(t.locale.dates, { maximumFractionDigits: 2 })} s`;
}
