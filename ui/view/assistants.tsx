// Assistants: cards of an empty conversation, and the section of the settings panel that saves and deletes them.

import { Bot } from "lucide";
import { useState } from "preact/hooks";
import type { Assistant } from "../state/assistant.ts";
import { applyAssistant, assistants, removeAssistant, saveAssistant } from "../state/assistants.ts";
import type { Conversation } from "../state/conversation.ts";
import { notify } from "../state/toasts.ts";
import { Form, InlineField } from "./fields.tsx";
import { NamedItems } from "./named-items.tsx";
import { t } from "../texts/texts.ts";

/** Whether a conversation has the settings of an assistant. */
function fits({ model, settings }: Conversation, assistant: Assistant): boolean {
  return model === assistant.model && JSON.stringify(settings) === JSON.stringify(assistant.settings);
}

/** Buttons that give a conversation the settings of an assistant. */
export function AssistantCards({ conversation }: { readonly conversation: Conversation }) {
  return (
    <NamedItems
      label={t.assistants.title}
      items={assistants.value}
      icon={Bot}
      isPicked={(assistant) => fits(conversation, assistant)}
      onPick={(assistant) => applyAssistant(conversation.id, assistant)}
    />
  );
}

export function AssistantSettings({ conversation }: { readonly conversation: Conversation }) {
  const [name, setName] = useState("");
  const save = (): void => {
    saveAssistant(name.trim(), conversation);
    notify(t.assistants.saved(name.trim()));
    setName("");
  };
  return (
    <fieldset>
      <legend>{t.assistants.title}</legend>
      <p class="faint">{t.assistants.what}</p>
      <NamedItems
        label={t.assistants.title}
        items={assistants.value}
        icon={Bot}
        isPicked={(assistant) => fits(conversation, assistant)}
        onPick={(assistant) => applyAssistant(conversation.id, assistant)}
        remove={{ label: t.assistants.remove, run: removeAssistant }}
      />
      <Form
        class="row"
        onSubmit={() => {
          if (name.trim() !== "") save();
        }}
      >
        <InlineField label={t.assistants.name} hint={t.common.name} value={name} onChange={setName} />
        <button type="submit">{t.common.save}</button>
      </Form>
    </fieldset>
  );
}
