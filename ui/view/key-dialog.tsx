// Dialog for the API key, shown when the server requires one.

import { useState } from "preact/hooks";
import { isKeyDialogOpen } from "../state/key.ts";
import { loadModels } from "../state/models.ts";
import { prefs, setPrefs } from "../state/prefs.ts";
import { Dialog } from "./dialog.tsx";

export function KeyDialog() {
  if (!isKeyDialogOpen.value) return null;
  return (
    <Dialog title="API key" onClose={() => (isKeyDialogOpen.value = false)}>
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
      <p>This server requires an API key. The key is stored in this browser.</p>
      <div class="row">
        <input
          class="grow"
          type="password"
          autocomplete="off"
          aria-label="API key"
          value={key}
          onInput={({ currentTarget }) => setKey(currentTarget.value)}
        />
        <button type="submit" class="primary">
          Save
        </button>
      </div>
    </form>
  );
}
