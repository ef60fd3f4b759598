// Keyboard shortcuts and the dialog that lists them.

import { isRunning, stopAnswer } from "../state/running.ts";
import { current } from "../state/conversations.ts";
import { find } from "../state/find.ts";
import { imageJob, stopImageJob } from "../state/images.ts";
import { go, route } from "../state/route.ts";
import { isSpeaking, stopSpeaking } from "../state/speech.ts";
import { SEARCH_ID } from "./conversation-list.tsx";
import { Dialog } from "./dialog.tsx";
import { FIND_ID } from "./find-bar.tsx";
import { COMPOSER_ID, isHelpOpen, isListOpen, isPanelOpen, PANEL_CLOSE_ID } from "./layout.ts";
import { isPaletteOpen } from "./palette.tsx";
import { openFind } from "./open-find.ts";
import { isTextBox } from "./text-box.ts";
import { t } from "../texts/texts.ts";

interface Shortcut {
  /** Keys for display; Ctrl is Cmd on a Mac. */
  readonly keys: string;
  readonly what: () => string;
  readonly fits: (event: KeyboardEvent) => boolean;
  /** Returns true if the shortcut applied. */
  readonly run: () => boolean;
}

const withCommand = (event: KeyboardEvent): boolean => event.ctrlKey || event.metaKey;
const plain = (event: KeyboardEvent): boolean =>
  !withCommand(event) && !event.altKey && !isTextBox(event.target);

const SHORTCUTS: readonly Shortcut[] = [
  {
    keys: "Ctrl Shift O",
    what: () => t.chat.new,
    fits: (event) => withCommand(event) && event.shiftKey && event.key.toLowerCase() === "o",
    run: () => {
      go({ page: "chat" });
      requestAnimationFrame(() => document.getElementById(COMPOSER_ID)?.focus()); // also where the page is new already
      return true;
    },
  },
  {
    keys: "Ctrl K",
    what: () => t.keys.palette,
    fits: (event) => withCommand(event) && event.key.toLowerCase() === "k",
    run: () => (isPaletteOpen.value = true),
  },
  {
    keys: "Ctrl Shift F",
    what: () => t.keys.search,
    fits: (event) => withCommand(event) && event.shiftKey && event.key.toLowerCase() === "f",
    run: () => {
      isListOpen.value = true;
      requestAnimationFrame(() => document.getElementById(SEARCH_ID)?.focus());
      return true;
    },
  },
  {
    keys: "Ctrl F",
    what: () => t.find.title,
    // Pressed again in the box, it is the browser's own search.
    fits: (event) =>
      withCommand(event) &&
      !event.shiftKey &&
      event.key.toLowerCase() === "f" &&
      document.activeElement?.id !== FIND_ID,
    run: () => openFind(),
  },
  {
    keys: "Ctrl B",
    what: () => t.keys.list,
    fits: (event) => withCommand(event) && event.key.toLowerCase() === "b",
    run: () => ((isListOpen.value = !isListOpen.value), true),
  },
  {
    keys: "Ctrl ,",
    what: () => t.chat.settings,
    fits: (event) => withCommand(event) && event.key === ",",
    run: () => {
      isPanelOpen.value = !isPanelOpen.value;
      requestAnimationFrame(() => document.getElementById(PANEL_CLOSE_ID)?.focus());
      return true;
    },
  },
  {
    keys: "/",
    what: () => t.keys.focus,
    fits: (event) => plain(event) && event.key === "/",
    run: () => (document.getElementById(COMPOSER_ID)?.focus(), true),
  },
  {
    keys: "Esc",
    what: () => t.keys.stop,
    fits: ({ key }) => key === "Escape" && document.querySelector("dialog[open]") === null,
    run: () => {
      const id = current.value?.id;
      const isAnswering = id !== undefined && isRunning(id);
      const isGenerating = route.value.page === "images" && imageJob.value !== undefined;
      if (isAnswering) stopAnswer(id);
      else if (isGenerating) stopImageJob();
      else if (isSpeaking()) stopSpeaking();
      else if (isPanelOpen.value) isPanelOpen.value = false;
      else if (find.value !== undefined) find.value = undefined;
      else return false;
      return true;
    },
  },
  {
    keys: "?",
    what: () => t.keys.help,
    fits: (event) => plain(event) && event.key === "?",
    run: () => (isHelpOpen.value = true),
  },
];

/** Shortcuts of text boxes. */
const inABox = () =>
  [
    ["Enter", t.composer.send],
    ["Shift Enter", t.keys.newLine],
    ["Ctrl Enter", t.keys.generate],
    ["↑", t.keys.last],
  ] as const;

/** Installs the keyboard listener. */
export function watchKeys(): void {
  addEventListener("keydown", (event: KeyboardEvent) => {
    const shortcut = SHORTCUTS.find(({ fits }) => fits(event));
    if (shortcut?.run() === true) event.preventDefault();
  });
}

export function HelpDialog() {
  if (!isHelpOpen.value) return null;
  const rows = [...SHORTCUTS.map(({ keys, what }) => [keys, what()] as const), ...inABox()];
  return (
    <Dialog title={t.keys.title} onClose={() => (isHelpOpen.value = false)}>
      <dl class="keys">
        {rows.map(([keys, what]) => (
          <div key={keys}>
            <dt>
              {keys.split(" ").map((key) => (
                <kbd>{keyName(key)}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

/** Name of a key as keyboards of the language have it. */
function keyName(key: string): string {
  const names: Readonly<Record<string, string>> = t.keys.names;
  return names[key] ?? key;
}
