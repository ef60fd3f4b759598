// Speech page: text, voice, playback and download.

import { Download, Square, Volume2 } from "lucide";
import { useState } from "preact/hooks";
import { formatSecs } from "../format.ts";
import { saveFile } from "../save-file.ts";
import { prefs, setPrefs } from "../state/prefs.ts";
import { isSpeaking, speak, type Speech, speech, stopSpeaking } from "../state/speech.ts";
import { TextField } from "../view/fields.tsx";
import { Icon } from "../view/icon.tsx";
import { KindPicker } from "./kind-picker.tsx";
import { NoModel } from "./no-model.tsx";
import { PageFrame } from "./page-frame.tsx";
import { Problem } from "./problem.tsx";
import { t } from "../texts/texts.ts";

/** Owner name of this page's speech. */
const OWNER = "speech-page";

export function SpeechPage() {
  const [text, setText] = useState("");
  const mine = speech.value?.owner === OWNER ? speech.value : undefined;
  const isBusy = isSpeaking(OWNER);
  const isEmpty = text.trim() === "";
  const submit = (): void => {
    if (!isEmpty && !isBusy) void speak(OWNER, text);
  };
  return (
    <PageFrame label={t.pages.speech}>
      <NoModel kind="speech" page="docs/speech.md" />
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
        <TextField label={t.media.text} rows={6} value={text} onChange={setText} />
        <div class="options">
          <KindPicker
            label={t.media.voice}
            kind="speech"
            value={prefs.value.voice}
            onChange={(voice) => setPrefs({ voice })}
          />
          {/* Keys: without them, the second click of a double click would hit the other button. */}
          {isBusy ? (
            <button key="stop" type="button" onClick={stopSpeaking}>
              <Icon node={Square} size={15} /> {t.common.stop}
            </button>
          ) : (
            <button key="go" type="submit" class="primary" disabled={isEmpty}>
              <Icon node={Volume2} size={17} /> {t.media.speak}
            </button>
          )}
          <button type="button" disabled={mine?.file === undefined} onClick={() => save(mine?.file)}>
            <Icon node={Download} size={16} /> {t.common.download}
          </button>
        </div>
      </form>
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
