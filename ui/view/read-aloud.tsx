// The button that lets an answer be read aloud, where the server can.

import { Square, Volume2 } from "lucide";
import { canSpeak } from "../state/abilities.ts";
import { isSpeaking, toggleReading } from "../state/speech.ts";
import { Icon } from "./icon.tsx";
import { speakable } from "./speakable.ts";

export function ReadAloud({ owner, markdown }: { readonly owner: string; readonly markdown: string }) {
  if (!canSpeak.value || markdown.trim() === "") return null;
  const isBusy = isSpeaking(owner);
  const label = isBusy ? "Stop reading" : "Read aloud";
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
