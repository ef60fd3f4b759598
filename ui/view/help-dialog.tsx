// Keyboard shortcuts and the dialog that lists them.

import { isRunning, stopAnswer } from "../state/running.ts";
import { current } from "../state/conversations.ts";
import { imageJob, stopImageJob } from "../state/images.ts";
import { go, route } from "../state/route.ts";
import { isSpeaking, stopSpeaking } from "../state/speech.ts";
import { COMPOSER_ID } from "./composer.tsx";
import { SEARCH_ID } from "./conversation-list.tsx";
import { Dialog } from "./dialog.tsx";
import { isHelpOpen, isListOpen, isPanelOpen } from "./layout.ts";
import { isPaletteOpen } from "./palette.tsx";

interface Shortcut {
  /** Keys for display; Ctrl is Cmd on a Mac. */
  readonly keys: string;
  readonly what: string;
  readonly fits: (event: KeyboardEvent) => boolean;
  /** Returns true if the shortcut applied. */
  readonly run: () => boolean;
}

const withCommand = (event: KeyboardEvent): boolean => event.ctrlKey || event.metaKey;
const plain = (event: KeyboardEvent): boolean => !withCommand(event) && !event.altKey && !isTyping(event);

const SHORTCUTS: readonly Shortcut[] = [
  {
    keys: "Ctrl Shift O",
    what: "New conversation",
    fits: (event) => withCommand(event) && event.shiftKey && event.key.toLowerCase() === "o",
    run: () => (go({ page: "chat" }), true),
  },
  {
    keys: "Ctrl K",
    what: "Command palette: actions, conversations, models",
    fits: (event) => withCommand(event) && event.key.toLowerCase() === "k",
    run: () => (isPaletteOpen.value = true),
  },
  {
    keys: "Ctrl Shift F",
    what: "Search in conversations",
    fits: (event) => withCommand(event) && event.shiftKey && event.key.toLowerCase() === "f",
    run: () => {
      isListOpen.value = true;
      requestAnimationFrame(() => document.getElementById(SEARCH_ID)?.focus());
      return true;
    },
  },
  {
    keys: "Ctrl B",
    what: "Show or hide conversations",
    fits: (event) => withCommand(event) && event.key.toLowerCase() === "b",
    run: () => ((isListOpen.value = !isListOpen.value), true),
  },
  {
    keys: "Ctrl ,",
    what: "Conversation settings",
    fits: (event) => withCommand(event) && event.key === ",",
    run: () => ((isPanelOpen.value = !isPanelOpen.value), true),
  },
  {
    keys: "/",
    what: "Focus the message box",
    fits: (event) => plain(event) && event.key === "/",
    run: () => (document.getElementById(COMPOSER_ID)?.focus(), true),
  },
  {
    keys: "Esc",
    what: "Stop the answer, image generation or speech",
    fits: ({ key }) => key === "Escape" && document.querySelector("dialog[open]") === null,
    run: () => {
      const id = current.value?.id;
      const isAnswering = id !== undefined && isRunning(id);
      const isGenerating = route.value.page === "images" && imageJob.value !== undefined;
      if (isAnswering) stopAnswer(id);
      else if (isGenerating) stopImageJob();
      else if (isSpeaking()) stopSpeaking();
      else return false;
      return true;
    },
  },
  {
    keys: "?",
    what: "Show this help",
    fits: (event) => plain(event) && event.key === "?",
    run: () => (isHelpOpen.value = true),
  },
];

/** Shortcuts of text boxes. */
const IN_A_BOX = [
  ["Enter", "Send"],
  ["Shift Enter", "New line"],
  ["Ctrl Enter", "Generate, on the pages Images and Speech"],
  ["↑", "Last message, in an empty box"],
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
  const rows = [...SHORTCUTS.map(({ keys, what }) => [keys, what] as const), ...IN_A_BOX];
  return (
    <Dialog title="Keyboard shortcuts" onClose={() => (isHelpOpen.value = false)}>
      <dl class="keys">
        {rows.map(([keys, what]) => (
          <div key={keys}>
            <dt>
              {keys.split(" ").map((key) => (
                <kbd>{key}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

function isTyping({ target }: KeyboardEvent): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}
