// GGUF files of the server's machine that were added by their path.

import { useState } from "preact/hooks";
import { addFile } from "../state/hub.ts";
import { Form, LineField } from "../view/fields.tsx";
import { t } from "../texts/texts.ts";

/** A form that adds a file. */
export function AddFile() {
  const [path, setPath] = useState("");
  const [isBusy, setBusy] = useState(false);
  const submit = async (): Promise<void> => {
    setBusy(true);
    if (await addFile(path.trim())) setPath("");
    setBusy(false);
  };
  return (
    <section class="card" aria-label={t.models.addFile}>
      <h2>{t.models.addFile}</h2>
      <Form class="row" onSubmit={() => void submit()}>
        <div class="grow">
          <LineField
            label={t.models.filePath}
            hint={t.models.filePathHint}
            value={path}
            onChange={setPath}
            required
          />
        </div>
        <button type="submit" disabled={isBusy}>
          {t.models.addIt}
        </button>
      </Form>
      <p class="faint">
        {t.models.folderToo} <code>--models-dir</code>
      </p>
    </section>
  );
}
