// Button that records a message for a model that hears.

import { Mic, Square } from "lucide";
import { useEffect, useRef, useState } from "preact/hooks";
import { messageOf } from "../api/client.ts";
import { type Recording, startRecording } from "../state/recorder.ts";
import { notify } from "../state/toasts.ts";
import { Icon } from "./icon.tsx";

export function MicrophoneButton({ onFile }: { readonly onFile: (file: File) => void }) {
  const [recording, setRecording] = useState<Recording>();
  const latest = useRef<Recording | undefined>(undefined);
  latest.current = recording;
  useEffect(() => () => latest.current?.stop(), []);
  const start = async (): Promise<void> => {
    try {
      const started = await startRecording();
      setRecording(started);
      onFile(await started.file);
    } catch (error) {
      notify(messageOf(error));
    }
    setRecording(undefined);
  };
  const label = recording === undefined ? "Record with the microphone" : "Stop recording";
  return (
    <button
      type="button"
      class="ghost"
      aria-pressed={recording !== undefined}
      onClick={() => (recording === undefined ? void start() : recording.stop())}
      aria-label={label}
      title={label}
    >
      <Icon node={recording === undefined ? Mic : Square} size={recording === undefined ? 18 : 14} />
    </button>
  );
}
