// What a model is loaded with: context, cache type, layers and threads, with the memory that this takes.

import { useEffect, useRef, useState } from "preact/hooks";
import type { LoadPlan, LoadSettings } from "../../src/core/load-settings.ts";
import { messageOf, sendForJson } from "../api/client.ts";
import { formatBytes } from "../format.ts";
import { NumberField, RangeField, SelectField } from "../view/fields.tsx";
import { notify } from "../state/toasts.ts";
import { t } from "../texts/texts.ts";

/** Pause after a change before the memory is estimated, milliseconds. */
const PAUSE_MS = 150;
/** Shortest context that the slider offers, tokens. */
const CONTEXT_MIN = 512;
/** Cache types that people choose; others are shown where one is set. */
const CACHE_TYPES = ["f16", "q8_0", "q5_1", "q4_0"] as const;

interface LoadProps {
  readonly model: string;
  readonly isLoaded: boolean;
  /** Loads it again. */
  readonly onReload: () => Promise<void>;
}

export function LoadSettingsView({ model, isLoaded, onReload }: LoadProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="load" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{t.load.title}</summary>
      {isOpen && <LoadForm {...{ model, isLoaded, onReload }} />}
    </details>
  );
}

function ask(model: string, rest: object = {}, signal?: AbortSignal): Promise<LoadPlan> {
  const body = { model_id: model, ...rest };
  return sendForJson<LoadPlan>("v1/models/load_settings", {
    method: "POST",
    body,
    ...(signal && { signal }),
  });
}

function LoadForm({ model, isLoaded, onReload }: LoadProps) {
  const [plan, setPlan] = useState<LoadPlan>();
  const [chosen, setChosen] = useState<LoadSettings>({});
  const [problem, setProblem] = useState("");
  const isFirst = useRef(true);
  const show = (found: LoadPlan): void => (setPlan(found), setProblem(""));
  useEffect(() => {
    const abort = new AbortController();
    const body = isFirst.current ? {} : { settings: chosen, dry_run: true };
    const estimate = (): void =>
      void ask(model, body, abort.signal).then(
        (found) => {
          if (isFirst.current) setChosen(found.settings);
          isFirst.current = false;
          show(found);
        },
        (error: unknown) => abort.signal.aborted || setProblem(messageOf(error)),
      );
    const timer = setTimeout(estimate, isFirst.current ? 0 : PAUSE_MS);
    return () => (clearTimeout(timer), abort.abort());
  }, [chosen]);
  if (plan === undefined)
    return <p class={problem === "" ? "faint" : "problem"}>{problem || t.load.reading}</p>;
  const keep = async (settings: LoadSettings): Promise<void> => {
    try {
      show(await ask(model, { settings }));
      setChosen(settings);
      if (isLoaded) await onReload();
      notify(t.load.kept(model));
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void keep(chosen);
      }}
    >
      <Fields {...{ plan, chosen }} onChange={(part) => setChosen(without({ ...chosen, ...part }))} />
      <Memory plan={plan} />
      {problem !== "" && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <p class="row">
        <button type="submit">{isLoaded ? t.load.saveAndReload : t.common.save}</button>
        <button type="button" onClick={() => void keep({})}>
          {t.load.reset}
        </button>
      </p>
    </form>
  );
}

type Change = { readonly [K in keyof LoadSettings]: LoadSettings[K] | null };

/** The settings that are set. */
function without(settings: Change): LoadSettings {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== null));
}

interface FieldsProps {
  readonly plan: LoadPlan;
  readonly chosen: LoadSettings;
  readonly onChange: (part: Change) => void;
}

function Fields({ plan, chosen, onChange }: FieldsProps) {
  const { configured, trained_context_length: trained, layers, threads, has_devices: hasDevices } = plan;
  const usual = configured.max_seq_len ?? trained ?? 0;
  const cacheType = chosen.cache_type ?? configured.cache_type;
  const isOther = cacheType !== undefined && !CACHE_TYPES.some((type) => type === cacheType);
  const types = [...CACHE_TYPES, ...(isOther ? [cacheType] : [])];
  return (
    <div class="pairs">
      <NumberField
        label={t.load.context}
        hint={String(usual || t.load.usual)}
        value={chosen.max_seq_len ?? null}
        onChange={(length) => onChange({ max_seq_len: length })}
        min={64}
        step={1}
      />
      {trained !== null && (
        <RangeField
          label={t.load.contextSlider}
          min={CONTEXT_MIN}
          max={Math.max(CONTEXT_MIN, trained)}
          step={CONTEXT_MIN}
          value={chosen.max_seq_len ?? usual}
          onChange={(length) => onChange({ max_seq_len: length })}
        />
      )}
      <SelectField
        label={t.load.cacheType}
        value={chosen.cache_type ?? ""}
        options={[
          ["", t.common.defaultIs(configured.cache_type ?? t.load.usual)],
          ...types.map((type) => [type, type] as const),
        ]}
        onChange={(chosenType) => onChange({ cache_type: types.find((type) => type === chosenType) ?? null })}
      />
      <NumberField
        label={t.load.threads}
        hint={String(configured.threads ?? threads)}
        value={chosen.threads ?? null}
        onChange={(count) => onChange({ threads: count })}
        min={1}
        step={1}
      />
      {hasDevices && (
        <NumberField
          label={t.load.layers(layers)}
          hint={String(configured.device_layers ?? t.load.asFits)}
          value={chosen.device_layers ?? null}
          onChange={(count) => onChange({ device_layers: count })}
          min={0}
          {...(layers === null ? {} : { max: layers })}
          step={1}
        />
      )}
    </div>
  );
}

/** The memory that it would take, of what is free. */
function Memory({ plan: { memory_bytes: memory, memory_free_bytes: free } }: { readonly plan: LoadPlan }) {
  if (memory === null) return <p class="faint">{t.models.unknownFitWhy}</p>;
  const text = t.load.memory(formatBytes(memory), formatBytes(free));
  return (
    <div role="status">
      <meter value={Math.min(memory, free)} max={free} high={free * 0.9} aria-label={text} />
      <p class={memory > free ? "problem" : "faint"}>{text}</p>
    </div>
  );
}
