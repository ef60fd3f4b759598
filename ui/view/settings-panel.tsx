// Settings of the current conversation, which are also the initial settings of new ones.

import { X } from "lucide";
import type { Conversation, Settings } from "../state/conversation.ts";
import { DEFAULT_SETTINGS } from "../state/conversation.ts";
import { current, setSettings } from "../state/conversations.ts";
import { AssistantSettings } from "./assistants.tsx";
import { Icon } from "./icon.tsx";
import { isPanelOpen } from "./layout.ts";
import { NumberField, SelectField, SwitchField, TextField } from "./fields.tsx";
import { McpSettings } from "./mcp-settings.tsx";
import { SessionSettings } from "./session-settings.tsx";

export function SettingsPanel() {
  const conversation = current.value;
  if (conversation === undefined) return null;
  return (
    <aside class="panel" aria-label="Conversation settings">
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
        <McpSettings conversation={conversation} />
        <AssistantSettings conversation={conversation} />
        <SessionSettings conversation={conversation} />
      </div>
    </aside>
  );
}

const EFFORTS = [
  ["", "Model default"],
  ["off", "Off"],
  ["low", "Low"],
  ["medium", "Medium"],
  ["high", "High"],
  ["xhigh", "Highest"],
] as const;

const PERMISSIONS = [
  ["", "Server default"],
  ["auto", "Without approval"],
  ["ask", "After approval"],
  ["deny", "Never"],
] as const;

function Fields({ conversation: { id, settings } }: { readonly conversation: Conversation }) {
  const set = (part: Partial<Settings>): void => setSettings(id, { ...settings, ...part });
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
        <p class="faint">Empty fields use the server's defaults.</p>
        <div class="pairs">
          <NumberField label="Temperature" hint="1" min={0} max={2} step={0.1} {...field("temperature")} />
          <NumberField label="Top p" hint="1" min={0.01} max={1} step={0.01} {...field("top_p")} />
          <NumberField label="Top k" hint="0" min={0} step={1} {...field("top_k")} />
          <NumberField label="Min p" hint="0" min={0} max={1} step={0.01} {...field("min_p")} />
          <NumberField label="Max tokens" hint="no cap" min={1} step={1} {...field("max_tokens")} />
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
        <TextField label="Stop strings, one per line" rows={2} {...field("stop")} />
      </fieldset>
      <fieldset>
        <legend>Server tools</legend>
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
