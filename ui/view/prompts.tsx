// Saved prompts: the section of the settings panel that saves, changes and deletes them, and their insertion into the message box.

import { MessageSquareText } from "lucide";
import { useState } from "preact/hooks";
import { draftOf, setDraft } from "../state/drafts.ts";
import { type Prompt, selectionIn } from "../state/prompt.ts";
import { prompts, removePrompt, savePrompt } from "../state/prompts.ts";
import { notify } from "../state/toasts.ts";
import { Form, InlineField, TextField } from "./fields.tsx";
import { COMPOSER_ID } from "./layout.ts";
import { NamedItems } from "./named-items.tsx";
import { t } from "../texts/texts.ts";

/** Inserts a saved prompt into the draft of a conversation, or replaces it, and selects the prompt's first blank. */
export function insertPrompt(conversationId: string, prompt: Prompt, how: "add" | "replace"): void {
  const typed = how === "add" ? draftOf(conversationId).text : "";
  const before = typed === "" ? "" : `${typed}\n\n`;
  setDraft(conversationId, { text: before + prompt.text });
  const [start, end] = selectionIn(prompt.text);
  requestAnimationFrame(() => {
    const box = document.getElementById(COMPOSER_ID);
    if (!(box instanceof HTMLTextAreaElement)) return;
    box.focus();
    box.setSelectionRange(before.length + start, before.length + end);
  });
}

export function PromptSettings() {
  const [name, setName] = useState("");
  const [text, setText] = useState("");
  const save = (): void => {
    savePrompt(name.trim(), text);
    notify(t.prompts.saved(name.trim()));
    setName("");
    setText("");
  };
  return (
    <fieldset>
      <legend>{t.prompts.title}</legend>
      <p class="faint">{t.prompts.what}</p>
      <NamedItems
        label={t.prompts.title}
        items={prompts.value}
        icon={MessageSquareText}
        onPick={(prompt) => (setName(prompt.name), setText(prompt.text))}
        remove={{ label: t.prompts.remove, run: removePrompt }}
      />
      <Form
        onSubmit={() => {
          if (name.trim() !== "" && text.trim() !== "") save();
        }}
      >
        <TextField label={t.prompts.text} rows={3} value={text} onChange={setText} />
        <div class="row">
          <InlineField label={t.prompts.name} hint={t.common.name} value={name} onChange={setName} />
          <button type="submit" aria-label={t.prompts.save}>
            {t.common.save}
          </button>
        </div>
      </Form>
    </fieldset>
  );
}
