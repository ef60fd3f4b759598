// Button that reads an answer aloud, if the server has a speech model.

import { Square, Volume2 } from "lucide";
import { canSpeak } from "../state/capabilities.ts";
import { isSpeaking, toggleReading } from "../state/speech.ts";
import { Icon } from "./icon.tsx";
import { speakable } from "./speakable.ts";
import { t } from "../texts/texts.ts";

export function ReadAloud({ owner, markdown }: { readonly owner: string; readonly markdown: string }) {
  if (!canSpeak.value || markdown.trim() === "") return null;
  const isBusy = isSpeaking(owner);
  const label = isBusy ? t.answer.stopReading : t.answer.read;
  return (
    <button
      type="button"
      class="ghost"
      onClick={() => void toggleReading(owner, speakable(markdown))}
      aria-label={label}
      title={label}
    >
      <Icon node={isBusy ? Square : Volume2} size={isBusy ? 13 : 16} />
    </button>
  );
}
