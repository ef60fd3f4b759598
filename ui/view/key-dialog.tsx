// Dialog for the API key, shown when the server requires one.

import { useState } from "preact/hooks";
import { isKeyDialogOpen } from "../state/key.ts";
import { loadModels } from "../state/models.ts";
import { prefs, setPrefs } from "../state/prefs.ts";
import { Dialog } from "./dialog.tsx";
import { t } from "../texts/texts.ts";

export function KeyDialog() {
  if (!isKeyDialogOpen.value) return null;
  return (
    <Dialog title={t.key.title} onClose={() => (isKeyDialogOpen.value = false)}>
      <KeyForm />
    </Dialog>
  );
}

function KeyForm() {
  const [key, setKey] = useState(prefs.value.apiKey);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        setPrefs({ apiKey: key.trim() });
        isKeyDialogOpen.value = false;
        void loadModels();
      }}
    >
      <p>{t.key.required}</p>
      <div class="row">
        <input
          class="grow"
          type="password"
          autocomplete="off"
          aria-label={t.key.title}
          value={key}
          onInput={({ currentTarget }) => setKey(currentTarget.value)}
        />
        <button type="submit" class="primary">
          {t.common.save}
        </button>
      </div>
    </form>
  );
}
