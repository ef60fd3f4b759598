// Notices (toasts) at the edge of the page.

import { X } from "lucide";
import { dismiss, toasts } from "../state/toasts.ts";
import { Icon } from "./icon.tsx";
import { t } from "../texts/texts.ts";

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ key, text, action }) => (
        <div class="toast" key={key}>
          <span>{text}</span>
          {action !== undefined && (
            <button
              type="button"
              onClick={() => {
                dismiss(key);
                action.run();
              }}
            >
              {action.label}
            </button>
          )}
          <button type="button" class="ghost" aria-label={t.system.dismiss} onClick={() => dismiss(key)}>
            <Icon node={X} size={15} />
          </button>
        </div>
      ))}
    </div>
  );
}
