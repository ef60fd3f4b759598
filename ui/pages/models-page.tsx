// Models page: status, load, reload and unload of the served models, their LoRA adapters and upstream servers.

import { RefreshCw } from "lucide";
import { useState } from "preact/hooks";
import { messageOf, sendForJson } from "../api/client.ts";
import { plural } from "../format.ts";
import { grouped, type ModelCard } from "../state/model-card.ts";
import { loadModels, models, modelsError } from "../state/models.ts";
import { notify } from "../state/toasts.ts";
import { loadUpstreams, upstreams } from "../state/upstreams.ts";
import { Icon } from "../view/icon.tsx";
import { Adapters } from "./adapters.tsx";
import { PageFrame } from "./page-frame.tsx";
import { Problem } from "./problem.tsx";
import { Upstreams } from "./upstreams.tsx";
import { usePolling } from "./use-polling.ts";

/** Refresh interval of the list while the page is shown, milliseconds. */
const POLL_MS = 3000;

export function ModelsPage() {
  usePolling(async () => void (await Promise.all([loadModels(), loadUpstreams()])), POLL_MS);
  const cards = models.value;
  return (
    <PageFrame label="Models">
      {modelsError.value !== undefined && <Problem text={modelsError.value} />}
      {cards !== undefined && grouped(cards).map(({ base }) => <ModelView key={base.id} card={base} />)}
    </PageFrame>
  );
}

interface Operation {
  readonly path: "unload" | "reload";
  readonly label: string;
  readonly isFor: (status: string) => boolean;
}

const OPERATIONS: readonly Operation[] = [
  { path: "reload", label: "Load", isFor: (status) => status === "unloaded" },
  { path: "reload", label: "Reload", isFor: (status) => status === "loaded" },
  { path: "unload", label: "Unload", isFor: (status) => status === "loaded" },
];

function ModelView({ card }: { readonly card: ModelCard }) {
  const { id, root, status, kind, mcp_tools_count: tools } = card;
  const [operating, setOperating] = useState<string>();
  const servers = upstreams.value?.get(id);
  const shown = operating ?? status ?? "loaded";
  // A model on upstream servers cannot be unloaded; a reload probes them.
  const operations = OPERATIONS.filter(
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
        <span class={`badge ${shown}`}>{shown}</span>
        {kind && kind !== "text" ? <span class="badge">{kind}</span> : null}
        <span class="grow" />
        {operations.map((operation) => (
          <button type="button" onClick={() => void operate(operation)}>
            {operation.label}
          </button>
        ))}
        {operating !== undefined && <Icon node={RefreshCw} />}
      </header>
      {root && <p class="faint">{root}</p>}
      {tools ? <p class="faint">{plural(tools, "MCP tool")}</p> : null}
      {servers !== undefined && <Upstreams servers={servers} />}
      <Adapters model={id} isLoaded={shown === "loaded"} />
    </section>
  );
}
