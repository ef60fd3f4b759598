// Button that records a message for a model that hears.

import { Mic, Square } from "lucide";
import { useEffect, useRef, useState } from "preact/hooks";
import { messageOf } from "../api/client.ts";
import { type Capture, startCapture } from "../state/microphone.ts";
import { notify } from "../state/toasts.ts";
import { Icon } from "./icon.tsx";
import { t } from "../texts/texts.ts";

export function MicrophoneButton({ onFile }: { readonly onFile: (file: File) => void }) {
  const [capture, setCapture] = useState<Capture>();
  const latest = useRef<Capture | undefined>(undefined);
  latest.current = capture;
  useEffect(() => () => latest.current?.stop(), []);
  const start = async (): Promise<void> => {
    try {
      const started = await startCapture();
      setCapture(started);
      onFile(await started.file);
    } catch (error) {
      notify(messageOf(error));
    }
    setCapture(undefined);
  };
  const label = capture === undefined ? t.microphone.start : t.microphone.stop;
  return (
    <button
      type="button"
      class="ghost"
      aria-pressed={capture !== undefined}
      onClick={() => (capture === undefined ? void start() : capture.stop())}
      aria-label={label}
      title={label}
    >
      <Icon node={capture === undefined ? Mic : Square} size={capture === undefined ? 18 : 14} />
    </button>
  );
}
