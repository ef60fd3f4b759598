// Command palette: actions, conversations, models, assistants and saved prompts by a few letters.

import { signal } from "@preact/signals";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { applyAssistant, assistants } from "../state/assistants.ts";
import { change, current, summaries } from "../state/conversations.ts";
import { ofKind } from "../state/model-card.ts";
import { models } from "../state/models.ts";
import { isKeyDialogOpen } from "../state/key.ts";
import { prefs, setPrefs } from "../state/prefs.ts";
import { prompts } from "../state/prompts.ts";
import { go, OTHER_PAGES } from "../state/route.ts";
import { signOut } from "../state/sign-in.ts";
import { imagesOf } from "../state/conversation-images.ts";
import { isGalleryOpen } from "./conversation-gallery.tsx";
import { isHelpOpen, isPanelOpen } from "./layout.ts";
import { insertPrompt } from "./prompts.tsx";
import { sharedId } from "./share-dialog.tsx";
import { LANGUAGE_TAGS, LANGUAGES, t } from "../texts/texts.ts";

export const isPaletteOpen = signal(false);

/** Entries shown at once. */
const SHOWN_MAX = 12;

interface Entry {
  readonly group: string;
  readonly name: string;
  readonly run: () => void;
}

export function Palette() {
  if (!isPaletteOpen.value) return null;
  return <OpenPalette />;
}

function OpenPalette() {
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const box = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => box.current?.showModal(), []);
  const found = matching(entries(), query).slice(0, SHOWN_MAX);
  const selected = found[at];
  const run = (entry: Entry | undefined): void => {
    box.current?.close();
    entry?.run();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) setAt((at + step + found.length) % Math.max(1, found.length));
    else if (event.key === "Enter" && !event.isComposing) run(selected);
    else return;
    event.preventDefault();
  };
  return (
    <dialog
      ref={box}
      class="palette"
      aria-label={t.palette.title}
      onClose={() => (isPaletteOpen.value = false)}
      onClick={({ target }) => target === box.current && box.current?.close()}
    >
      <input
        role="combobox"
        aria-label={t.palette.search}
        aria-controls={id}
        aria-expanded="true"
        aria-autocomplete="list"
        aria-activedescendant={selected === undefined ? undefined : `${id}-${at}`}
        placeholder={t.palette.search}
        value={query}
        ref={(input) => input?.focus()}
        onInput={({ currentTarget }) => (setQuery(currentTarget.value), setAt(0))}
        onKeyDown={onKeyDown}
      />
      <ul id={id} role="listbox" aria-label={t.palette.matches}>
        {found.map((entry, index) => (
          <li
            key={`${entry.group} ${index}`}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === at}
            onPointerMove={() => index !== at && setAt(index)}
            onClick={() => run(entry)}
          >
            <span>{entry.name}</span>
            <span class="faint">{entry.group}</span>
          </li>
        ))}
      </ul>
      {found.length === 0 && <p class="faint">{t.palette.none}</p>}
    </dialog>
  );
}

/** Entries whose name contains all words, those that begin with the query first. */
function matching(all: readonly Entry[], query: string): readonly Entry[] {
  const text = query.trim().toLowerCase();
  const words = text.split(/\s+/);
  const found = all.filter(({ name, group }) => {
    const where = `${name} ${group}`.toLowerCase();
    return words.every((word) => where.includes(word));
  });
  const isFirst = ({ name }: Entry): boolean => name.toLowerCase().startsWith(text);
  return text === "" ? found : [...found.filter(isFirst), ...found.filter((entry) => !isFirst(entry))];
}

function entries(): readonly Entry[] {
  const conversation = current.value;
  const action = (name: string, run: () => void): Entry => ({ group: t.palette.action, name, run });
  const inConversation: readonly Entry[] =
    conversation === undefined
      ? []
      : [
          action(t.chat.settings, () => (isPanelOpen.value = !isPanelOpen.value)),
          ...(conversation.messages.length === 0
            ? []
            : [
                action(t.share.title, () => (sharedId.value = conversation.id)),
                action(conversation.pinned === true ? t.palette.unpin : t.palette.pin, () =>
                  change(conversation.id, (before) => ({ ...before, pinned: before.pinned !== true })),
                ),
              ]),
          ...(imagesOf(conversation).length === 0
            ? []
            : [action(t.chat.images, () => (isGalleryOpen.value = true))]),
          ...ofKind(models.value ?? [], "text").map(({ id: model }): Entry => ({
            group: t.palette.useModel,
            name: model,
            run: () => {
              change(conversation.id, (before) => ({ ...before, model }));
              setPrefs({ model });
            },
          })),
          ...prompts.value.map((prompt): Entry => ({
            group: t.palette.insertPrompt,
            name: prompt.name,
            run: () => insertPrompt(conversation.id, prompt, "add"),
          })),
          ...assistants.value.map((assistant): Entry => ({
            group: t.palette.useAssistant,
            name: assistant.name,
            run: () => applyAssistant(conversation.id, assistant),
          })),
        ];
  return [
    action(t.chat.new, () => go({ page: "chat" })),
    ...summaries.value.map(({ id, title }): Entry => ({
      group: t.chat.conversation,
      name: title,
      run: () => go({ page: "chat", id }),
    })),
    ...inConversation,
    ...OTHER_PAGES.map((page): Entry => ({
      group: t.palette.page,
      name: t.pages[page],
      run: () => go({ page }),
    })),
    ...(["light", "dark", "system"] as const).map((theme) =>
      action(t.list.theme(t.themes[theme]), () => setPrefs({ theme })),
    ),
    ...LANGUAGE_TAGS.map((language) =>
      action(t.settings.languageIs(LANGUAGES[language].name), () => setPrefs({ language })),
    ),
    action(t.keys.title, () => (isHelpOpen.value = true)),
    ...(prefs.value.apiKey === ""
      ? []
      : [
          action(t.key.change, () => (isKeyDialogOpen.value = true)),
          action(t.key.signOut, () => void signOut()),
        ]),
  ];
}
