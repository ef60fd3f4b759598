// How this conversation is answered. What is chosen here is also where new conversations begin.

import { X } from "lucide";
import type { Conversation, Settings } from "../state/conversation.ts";
import { DEFAULT_SETTINGS } from "../state/conversation.ts";
import { change, current } from "../state/conversations.ts";
import { setPrefs } from "../state/prefs.ts";
import { Icon } from "./icon.tsx";
import { isPanelOpen } from "./layout.ts";
import { NumberField, SelectField, SwitchField, TextField } from "./fields.tsx";
import { SessionSettings } from "./session-settings.tsx";

export function SettingsPanel() {
  const conversation = current.value;
  if (conversation === undefined) return null;
  return (
    <aside class="panel" aria-label="Settings of this conversation">
      <header>
        <h2>Settings</h2>
        <button
          type="button"
          class="ghost"
          aria-label="Close settings"
          onClick={() => (isPanelOpen.value = false)}
        >
          <Icon node={X} />
        </button>
      </header>
      <div class="panel-body">
        <Fields conversation={conversation} />
        <SessionSettings conversation={conversation} />
      </div>
    </aside>
  );
}

const EFFORTS = [
  ["", "As the model likes"],
  ["off", "Off"],
  ["low", "Low"],
  ["medium", "Medium"],
  ["high", "High"],
  ["xhigh", "Highest"],
] as const;

const PERMISSIONS = [
  ["", "As the server is set up"],
  ["auto", "At once"],
  ["ask", "After I approve"],
  ["deny", "Never"],
] as const;

function Fields({ conversation: { id, settings } }: { readonly conversation: Conversation }) {
  const set = (part: Partial<Settings>): void => {
    const next = { ...settings, ...part };
    change(id, (before) => ({ ...before, settings: next }));
    setPrefs({ settings: next });
  };
  const field = (name: keyof Settings) => ({
    value: settings[name] as never,
    onChange: (value: Settings[keyof Settings]) => set({ [name]: value }),
  });
  return (
    <>
      <TextField label="System prompt" rows={4} {...field("system")} />
      <SelectField label="Reasoning" options={EFFORTS} {...field("reasoning")} />
      <fieldset>
        <legend>Sampling</legend>
        <p class="faint">Empty leaves a value to the server.</p>
        <div class="pairs">
          <NumberField label="Temperature" hint="1" min={0} max={2} step={0.1} {...field("temperature")} />
          <NumberField label="Top p" hint="1" min={0.01} max={1} step={0.01} {...field("top_p")} />
          <NumberField label="Top k" hint="0" min={0} step={1} {...field("top_k")} />
          <NumberField label="Min p" hint="0" min={0} max={1} step={0.01} {...field("min_p")} />
          <NumberField label="Most tokens" hint="no cap" min={1} step={1} {...field("max_tokens")} />
          <NumberField label="Seed" hint="random" step={1} {...field("seed")} />
          <NumberField label="Presence" hint="0" min={-2} max={2} step={0.1} {...field("presence_penalty")} />
          <NumberField
            label="Frequency"
            hint="0"
            min={-2}
            max={2}
            step={0.1}
            {...field("frequency_penalty")}
          />
          <NumberField label="Repetition" hint="1" min={0.01} step={0.05} {...field("repetition_penalty")} />
        </div>
        <TextField label="Stop strings, one a line" rows={2} {...field("stop")} />
      </fieldset>
      <fieldset>
        <legend>What the server may do</legend>
        <SwitchField label="Run Python" {...field("python")} />
        <SwitchField label="Run shell commands" {...field("shell")} />
        <SwitchField label="Search the web" {...field("search")} />
        <SelectField label="Actions run" options={PERMISSIONS} {...field("permission")} />
      </fieldset>
      <button type="button" onClick={() => set(DEFAULT_SETTINGS)}>
        Reset all
      </button>
    </>
  );
}
