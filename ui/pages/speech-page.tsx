// Speech page: text, voice, playback and download.

import { Download, Volume2 } from "lucide";
import { useState } from "preact/hooks";
import { formatSecs } from "../format.ts";
import { saveFile } from "../save-file.ts";
import { prefs, setPrefs } from "../state/prefs.ts";
import { isSpeaking, speak, type Speech, speech, stopSpeaking } from "../state/speech.ts";
import { Icon } from "../view/icon.tsx";
import { KindPicker } from "./kind-picker.tsx";
import { NoModel } from "./no-model.tsx";
import { PageFrame } from "./page-frame.tsx";
import { Problem } from "./problem.tsx";
import { PromptForm } from "./prompt-form.tsx";
import { t } from "../texts/texts.ts";

/** Owner name of this page's speech. */
const OWNER = "speech-page";

export function SpeechPage() {
  const [text, setText] = useState("");
  const mine = speech.value?.owner === OWNER ? speech.value : undefined;
  return (
    <PageFrame label={t.pages.speech}>
      <NoModel kind="speech" page="docs/speech.md" />
      <PromptForm
        label={t.media.text}
        rows={6}
        text={text}
        setText={setText}
        isBusy={isSpeaking(OWNER)}
        onSend={() => void speak(OWNER, text)}
        onStop={stopSpeaking}
        send={{ label: t.media.speak, icon: Volume2 }}
        after={
          <button type="button" disabled={mine?.file === undefined} onClick={() => save(mine?.file)}>
            <Icon node={Download} size={16} /> {t.common.download}
          </button>
        }
      >
        <KindPicker
          label={t.media.voice}
          kind="speech"
          value={prefs.value.voice}
          onChange={(voice) => setPrefs({ voice })}
        />
      </PromptForm>
      <p role="status" class="faint">
        {mine === undefined ? "" : statusOf(mine)}
      </p>
      {mine?.error !== undefined && <Problem text={mine.error} />}
    </PageFrame>
  );
}

function save(file: Blob | undefined): void {
  if (file !== undefined) saveFile("speech.wav", [file]);
}

function statusOf({ state, secs, file }: Speech): string {
  switch (state) {
    case "waiting":
      return t.media.waiting;
    case "speaking":
      return file === undefined ? t.media.generating : t.media.playing(formatSecs(secs));
    case "done":
      return t.media.finished(formatSecs(secs));
    case "stopped":
      return t.answer.stopped;
    case "failed":
      return "";
  }
}
