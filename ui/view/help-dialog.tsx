// The keyboard shortcuts: what they do, and their description.

import { isRunning, stop } from "../state/running.ts";
import { current } from "../state/conversations.ts";
import { drawing, stopDrawing } from "../state/pictures.ts";
import { go, route } from "../state/route.ts";
import { isSpeaking, stopSpeaking } from "../state/speech.ts";
import { COMPOSER_ID } from "./composer.tsx";
import { SEARCH_ID } from "./conversation-list.tsx";
import { Dialog } from "./dialog.tsx";
import { isHelpOpen, isListOpen, isPanelOpen } from "./layout.ts";

interface Shortcut {
  /** For people; Ctrl is Cmd on a Mac. */
  readonly keys: string;
  readonly what: string;
  readonly fits: (event: KeyboardEvent) => boolean;
  /** True when there was something to do. */
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
    what: "Search conversations",
    fits: (event) => withCommand(event) && event.key.toLowerCase() === "k",
    run: () => {
      isListOpen.value = true;
      requestAnimationFrame(() => document.getElementById(SEARCH_ID)?.focus());
      return true;
    },
  },
  {
    keys: "Ctrl B",
    what: "Show or hide the list",
    fits: (event) => withCommand(event) && event.key.toLowerCase() === "b",
    run: () => ((isListOpen.value = !isListOpen.value), true),
  },
  {
    keys: "Ctrl ,",
    what: "Settings of the conversation",
    fits: (event) => withCommand(event) && event.key === ",",
    run: () => ((isPanelOpen.value = !isPanelOpen.value), true),
  },
  {
    keys: "/",
    what: "To the message box",
    fits: (event) => plain(event) && event.key === "/",
    run: () => (document.getElementById(COMPOSER_ID)?.focus(), true),
  },
  {
    keys: "Esc",
    what: "Stop the answer, the drawing or the voice",
    fits: ({ key }) => key === "Escape" && document.querySelector("dialog[open]") === null,
    run: () => {
      const id = current.value?.id;
      const isAnswering = id !== undefined && isRunning(id);
      const isDrawing = route.value.page === "images" && drawing.value !== undefined;
      if (isAnswering) stop(id);
      else if (isDrawing) stopDrawing();
      else if (isSpeaking()) stopSpeaking();
      else return false;
      return true;
    },
  },
  {
    keys: "?",
    what: "This help",
    fits: (event) => plain(event) && event.key === "?",
    run: () => (isHelpOpen.value = true),
  },
];

/** What boxes for text do by themselves. */
const IN_A_BOX = [
  ["Enter", "Send"],
  ["Shift Enter", "New line"],
  ["Ctrl Enter", "Draw, or speak, on those pages"],
  ["↑", "The last question again, in an empty box"],
] as const;

/** Listens to the keyboard for as long as the page is there. */
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
