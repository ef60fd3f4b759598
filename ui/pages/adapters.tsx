// The LoRA adapters of one model. Hidden if the server or the model does not support adapters.

import { useEffect, useRef, useState } from "preact/hooks";
import type { LoraAdapterListResponse } from "../../src/dialects/adapters/schema.ts";
import { messageOf, sendForJson, sendIfAvailable } from "../api/client.ts";
import { serverRoutes } from "../api/routes.ts";
import { formatBytes } from "../format.ts";
import { loadModels, models } from "../state/models.ts";
import { notify } from "../state/toasts.ts";
import { t } from "../texts/texts.ts";
import { Form, InlineField } from "../view/fields.tsx";

export function Adapters({ model, isLoaded }: { readonly model: string; readonly isLoaded: boolean }) {
  const [list, setList] = useState<LoraAdapterListResponse>();
  const [isMutable, setMutable] = useState(false);
  const lastLoad = useRef(0);
  const load = async (): Promise<LoraAdapterListResponse | undefined> => {
    const routes = await serverRoutes();
    setMutable(routes.has("/v1/load_lora_adapter"));
    if (!routes.has("/v1/lora_adapters")) return undefined;
    return sendIfAvailable<LoraAdapterListResponse>(`v1/lora_adapters?model=${encodeURIComponent(model)}`);
  };
  const show = async (): Promise<void> => {
    const number = ++lastLoad.current;
    const found = await load().catch(() => undefined); // loading the models fails too and reports the error
    if (number === lastLoad.current) setList(found); // ignores responses that arrive out of order
  };
  // With each refresh of the models: a response that failed once, or an adapter of another client, is shown by the next.
  useEffect(() => void show(), [isLoaded, models.value]);
  if (list === undefined) return null;
  const operate = async (path: string, body: Readonly<Record<string, string>>): Promise<void> => {
    try {
      await sendForJson(path, { method: "POST", body: { ...body, model } });
    } catch (error) {
      notify(messageOf(error));
    }
    await Promise.all([show(), loadModels()]);
  };
  return (
    <div class="adapters">
      <h3>{t.models.adapters}</h3>
      {list.data.length === 0 && <p class="faint">{t.models.noAdapters(list.max_adapters)}</p>}
      <ul>
        {list.data.map(({ id, rank, bytes, generation }) => (
          <li key={id}>
            <strong>{id}</strong>
            <span class="faint">{t.models.adapterFacts(rank, formatBytes(bytes), generation)}</span>
            {isMutable && (
              <button
                type="button"
                onClick={() =>
                  void operate("v1/unload_lora_adapter", { lora_name: id, expected_generation: generation })
                }
              >
                {t.models.unload}
              </button>
            )}
          </li>
        ))}
      </ul>
      {isMutable && (
        <LoadForm
          onLoad={(name, path) => operate("v1/load_lora_adapter", { lora_name: name, lora_path: path })}
        />
      )}
    </div>
  );
}

function LoadForm({ onLoad }: { readonly onLoad: (name: string, path: string) => Promise<void> }) {
  const [name, setName] = useState("");
  const [path, setPath] = useState("");
  const [isBusy, setBusy] = useState(false);
  const submit = async (): Promise<void> => {
    setBusy(true);
    await onLoad(name.trim(), path.trim());
    setBusy(false);
  };
  return (
    <Form class="row" onSubmit={() => void submit()}>
      <input
        aria-label={t.models.adapterName}
        placeholder={t.common.name}
        required
        value={name}
        onInput={({ currentTarget }) => setName(currentTarget.value)}
      />
      <InlineField
        label={t.models.adapterFolder}
        hint={t.models.folder}
        required
        value={path}
        onChange={setPath}
      />
      <button type="submit" disabled={isBusy}>
        {t.models.load}
      </button>
    </Form>
  );
}
