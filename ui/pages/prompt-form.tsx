// Form of a page that makes something of a text: Ctrl or Cmd with Enter sends it, and while it is made there is a button to stop that.

import { type IconNode, Square } from "lucide";
import type { ComponentChildren } from "preact";
import { TextField } from "../view/fields.tsx";
import { Icon } from "../view/icon.tsx";
import { t } from "../texts/texts.ts";

interface PromptFormProps {
  readonly label: string;
  readonly rows: number;
  readonly text: string;
  readonly setText: (text: string) => void;
  readonly isBusy: boolean;
  /** Called with a text that is not blank, while nothing is made. */
  readonly onSend: () => void;
  readonly onStop: () => void;
  readonly send: { readonly label: string; readonly icon: IconNode };
  /** Behind the button. */
  readonly after?: ComponentChildren;
  /** Options before the button. */
  readonly children: ComponentChildren;
}

export function PromptForm(props: PromptFormProps) {
  const { label, rows, text, setText, isBusy, onSend, onStop, send, after, children } = props;
  const isEmpty = text.trim() === "";
  const submit = (): void => {
    if (!isEmpty && !isBusy) onSend();
  };
  return (
    <form
      class="card"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit();
      }}
    >
      <TextField label={label} rows={rows} value={text} onChange={setText} />
      <div class="options">
        {children}
        {/* Keys: without them, the second click of a double click would hit the other button. */}
        {isBusy ? (
          <button key="stop" type="button" onClick={onStop}>
            <Icon node={Square} size={15} /> {t.common.stop}
          </button>
        ) : (
          <button key="go" type="submit" class="primary" disabled={isEmpty}>
            <Icon node={send.icon} size={16} /> {send.label}
          </button>
        )}
        {after}
      </div>
    </form>
  );
}
