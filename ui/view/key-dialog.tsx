// Dialog for the API key, shown when the server requires one.

import { useState } from "preact/hooks";
import { isKeyDialogOpen, isKeyRefused } from "../state/key.ts";
import { prefs } from "../state/prefs.ts";
import { signIn } from "../state/sign-in.ts";
import { Dialog } from "./dialog.tsx";
import { t } from "../texts/texts.ts";
import { Form } from "./fields.tsx";

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
    <Form
      onSubmit={() => {
        isKeyDialogOpen.value = false;
        signIn(key.trim());
      }}
    >
      <p>{t.key.required}</p>
      {isKeyRefused.value && (
        <p class="error" role="alert">
          {t.key.wrong}
        </p>
      )}
      <div class="row">
        <input
          class="grow"
          type="password"
          autofocus
          autocomplete="off"
          aria-label={t.key.title}
          value={key}
          onInput={({ currentTarget }) => setKey(currentTarget.value)}
        />
        <button type="submit" class="primary">
          {t.common.save}
        </button>
      </div>
    </Form>
  );
}
