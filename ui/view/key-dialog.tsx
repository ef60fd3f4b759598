// Asks for an API key when the server demands one.

import { useState } from "preact/hooks";
import { keyWanted } from "../state/key.ts";
import { loadModels } from "../state/models.ts";
import { prefs, setPrefs } from "../state/prefs.ts";
import { Dialog } from "./dialog.tsx";

export function KeyDialog() {
  if (!keyWanted.value) return null;
  return (
    <Dialog title="API key" onClose={() => (keyWanted.value = false)}>
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
        keyWanted.value = false;
        void loadModels();
      }}
    >
      <p>This server answers only requests that carry one of its keys. It is kept in this browser.</p>
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
          Use it
        </button>
      </div>
    </form>
  );
}
