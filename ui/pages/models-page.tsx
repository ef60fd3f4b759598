// Models page: the served models with their adapters and upstream servers, downloads, models on this machine, search of the hub.

import { Pin, RefreshCw } from "lucide";
import { useState } from "preact/hooks";
import type { HubInstalledModel, HubMachine } from "../../src/core/hub.ts";
import { messageOf, sendForJson } from "../api/client.ts";
import { formatBytes } from "../format.ts";
import { addedFiles, deleteModel, forgetFile, installed, loadHub, pulls } from "../state/hub.ts";
import { grouped, type ModelCard } from "../state/model-card.ts";
import { hasOnlyDemoModel, loadModels, models, modelsError } from "../state/models.ts";
import { notify, notifyOf } from "../state/toasts.ts";
import { loadUpstreams, upstreams } from "../state/upstreams.ts";
import { Icon } from "../view/icon.tsx";
import { modelFacts, stateName } from "../view/model-facts.ts";
import { Adapters } from "./adapters.tsx";
import { AddFile } from "./added-files.tsx";
import { LoadSettingsView } from "./load-settings.tsx";
import { HubSearch } from "./hub-search.tsx";
import { ModelDefaults } from "./model-defaults.tsx";
import { PageFrame } from "./page-frame.tsx";
import { Problem } from "./problem.tsx";
import { Proposals } from "./proposals.tsx";
import { Pulls } from "./pulls.tsx";
import { Upstreams } from "./upstreams.tsx";
import { usePolling } from "./use-polling.ts";
import { t } from "../texts/texts.ts";

/** Refresh interval of the list while the page is shown, milliseconds. */
const POLL_MS = 3000;

export function ModelsPage() {
  usePolling(async () => void (await Promise.all([loadModels(), loadUpstreams(), loadQuietly()])), POLL_MS);
  const cards = models.value;
  const hub = installed.value;
  return (
    <PageFrame label={t.pages.models}>
      {modelsError.value !== undefined && <Problem text={modelsError.value} />}
      {cards !== undefined && grouped(cards).map(({ base }) => <ModelView key={base.id} card={base} />)}
      {hub === null && (
        <p class="note">
          {t.models.locked} <code>models_mutable = true</code> {t.models.unlocks}
        </p>
      )}
      {hub && (
        <>
          <Pulls />
          {hasOnlyDemoModel(cards) && pulls.value.length === 0 && (
            <section class="card">
              <Proposals />
            </section>
          )}
          <Unserved models={hub.data.filter(({ served_as: served }) => served === null)} />
          <HubSearch />
          <AddFile />
          <MachineLine machine={hub.machine} />
        </>
      )}
    </PageFrame>
  );
}

/** Where the hub cannot be asked, the served models are still shown. */
async function loadQuietly(): Promise<void> {
  await loadHub().catch(() => undefined); // loading the models fails too and reports the error
}

function MachineLine({ machine }: { readonly machine: HubMachine }) {
  const { memory_free_bytes: memory, memory_total_bytes: total, disk_free_bytes: disk } = machine;
  return (
    <p class="faint">
      {t.models.machine({
        memory: formatBytes(memory),
        total: formatBytes(total),
        disk: formatBytes(disk),
        models: formatBytes(machine.models_bytes),
      })}
    </p>
  );
}

/** Models on this machine that the server does not serve. */
function Unserved({ models: list }: { readonly models: readonly HubInstalledModel[] }) {
  if (list.length === 0) return null;
  return (
    <section class="card" aria-label={t.models.unserved}>
      <h2>{t.models.unserved}</h2>
      <ul class="model-choices">
        {list.map((model) => (
          <li key={model.id}>
            <strong>{model.id}</strong>
            <span class="faint grow">{formatBytes(model.size_bytes)}</span>
            <DeleteButton model={model} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Asks once more, because a download can take hours. */
function DeleteButton({ model }: { readonly model: HubInstalledModel }) {
  const [isAsked, setAsked] = useState(false);
  if (!model.is_removable) return null;
  if (!isAsked)
    return (
      <button type="button" aria-label={t.common.deleteNamed(model.id)} onClick={() => setAsked(true)}>
        {t.common.delete}
      </button>
    );
  return (
    <span class="row">
      <button type="button" class="danger" onClick={() => void deleteModel(model)}>
        {t.common.deleteNamed(formatBytes(model.size_bytes))}
      </button>
      <button type="button" onClick={() => setAsked(false)}>
        {t.models.keep}
      </button>
    </span>
  );
}

/** What a model can do and how large it is, as badges. */
function Badges({ card, file }: { readonly card: ModelCard; readonly file: HubInstalledModel | undefined }) {
  return (
    <p class="badges">
      {modelFacts(card, file).map((fact) => (
        <span key={fact} class="badge">
          {fact}
        </span>
      ))}
    </p>
  );
}

/** Keeps a model loaded, until the server ends. Shown where the server lets this page change models. */
function PinButton({ card: { id, pinned } }: { readonly card: ModelCard }) {
  if (typeof pinned !== "boolean" || !installed.value) return null;
  const toggle = (): Promise<void> =>
    notifyOf(async () => {
      const path = pinned ? "unpin" : "pin";
      const { error } = await sendForJson<{ error?: string }>(`v1/models/${path}`, {
        method: "POST",
        body: { model_id: id },
      });
      if (error !== undefined) notify(error);
      await loadModels();
    });
  return (
    <button
      type="button"
      aria-pressed={pinned}
      aria-label={t.models.pinNamed(id)}
      title={t.models.pinWhat}
      onClick={() => void toggle()}
    >
      <Icon node={Pin} size={15} /> {t.models.pin}
    </button>
  );
}

interface Operation {
  readonly path: "unload" | "reload";
  readonly label: string;
  readonly isFor: (status: string) => boolean;
}

const reloading = (): Operation => ({ path: "reload", label: t.models.reload, isFor: () => true });

/** Whether this server loads it, with settings of its own: no adapter, alias or voice. */
function isLoadedHere({ kind, parent, pinned }: ModelCard): boolean {
  return (kind ?? "text") === "text" && !parent && typeof pinned === "boolean";
}

const operationsOf = (): readonly Operation[] => [
  { path: "reload", label: t.models.load, isFor: (status) => status === "unloaded" },
  { path: "reload", label: t.models.reload, isFor: (status) => status === "loaded" },
  { path: "unload", label: t.models.unload, isFor: (status) => status === "loaded" },
];

function ModelView({ card }: { readonly card: ModelCard }) {
  const { id, root, status, kind, placement, mcp_tools_count: tools } = card;
  const [operating, setOperating] = useState<string>();
  const servers = upstreams.value?.get(id);
  const file = installed.value?.data.find(({ served_as: served }) => served === id);
  const shown = operating ?? status ?? "loaded";
  // A model on upstream servers cannot be unloaded; a reload probes them.
  const operations = operationsOf().filter(
    ({ path, isFor }) =>
      operating === undefined && isFor(shown) && (servers === undefined || path === "reload"),
  );
  const operate = async ({ path, label }: Operation): Promise<void> => {
    setOperating(path === "unload" ? "unloading" : "reloading");
    try {
      const { error } = await sendForJson<{ error?: string }>(`v1/models/${path}`, {
        method: "POST",
        body: { model_id: id },
      });
      if (error !== undefined) notify(error);
    } catch (error) {
      notify(`${label}: ${messageOf(error)}`);
    }
    setOperating(undefined);
    await Promise.all([loadModels(), loadUpstreams()]);
  };
  return (
    <section class="card" aria-label={id}>
      <header>
        <h2>{id}</h2>
        <span class={`badge ${shown}`}>{stateName(shown)}</span>
        {kind && kind !== "text" ? <span class="badge">{t.models.kinds[kind]}</span> : null}
        <span class="row operations">
          <PinButton card={card} />
          {file !== undefined && <DeleteButton model={file} />}
          {addedFiles.value.includes(id) && (
            <button type="button" aria-label={t.models.forgetNamed(id)} onClick={() => void forgetFile(id)}>
              {t.models.forget}
            </button>
          )}
          {operations.map((operation) => (
            <button type="button" onClick={() => void operate(operation)}>
              {operation.label}
            </button>
          ))}
          {operating !== undefined && <Icon node={RefreshCw} />}
        </span>
      </header>
      {root && root !== id && <p class="faint">{root}</p>}
      <Badges card={card} file={file} />
      <ModelDefaults card={card} />
      {placement && <p class="faint">{placement}</p>}
      {tools ? <p class="faint">{t.count.mcpTool(tools)}</p> : null}
      {servers !== undefined && <Upstreams servers={servers} />}
      {installed.value && isLoadedHere(card) && servers === undefined && (
        <LoadSettingsView model={id} isLoaded={shown === "loaded"} onReload={() => operate(reloading())} />
      )}
      <Adapters model={id} isLoaded={shown === "loaded"} />
    </section>
  );
}
