// Editor of a question or an answer, in its place.

import { useState } from "preact/hooks";
import { t } from "../texts/texts.ts";
import { Form } from "./fields.tsx";

/** Rows of the box, at most. */
const ROWS_MAX = 16;

interface EditorProps {
  readonly label: string;
  /** Label of the button that submits. */
  readonly action: string;
  readonly text: string;
  /** Called with the new text. */
  readonly onSubmit: (text: string) => void;
  readonly onCancel: () => void;
}

export function TextEditor({ label, action, text: initial, onSubmit, onCancel }: EditorProps) {
  const [text, setText] = useState(initial);
  return (
    <Form class="question editor" onSubmit={() => onSubmit(text)}>
      <textarea
        aria-label={label}
        value={text}
        rows={Math.min(ROWS_MAX, text.split("\n").length + 1)}
        ref={(area) => area?.focus()}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") onCancel();
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) onSubmit(text);
        }}
      />
      <div class="actions shown">
        <button type="button" onClick={onCancel}>
          {t.common.cancel}
        </button>
        <button type="submit" class="primary">
          {action}
        </button>
      </div>
    </Form>
  );
}
