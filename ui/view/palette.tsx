// Command palette: actions, conversations, models, assistants and saved prompts by a few letters.

import { signal } from "@preact/signals";
import { applyAssistant, assistants } from "../state/assistants.ts";
import { change, current, summaries } from "../state/conversations.ts";
import { ofKind } from "../state/model-card.ts";
import { models } from "../state/models.ts";
import { isKeyDialogOpen } from "../state/key.ts";
import { prefs, setPrefs } from "../state/prefs.ts";
import { prompts } from "../state/prompts.ts";
import { offeredPages } from "../state/offered-pages.ts";
import { go } from "../state/route.ts";
import { signOut } from "../state/sign-in.ts";
import { imagesOf } from "../state/conversation-images.ts";
import { isGalleryOpen } from "./conversation-gallery.tsx";
import { Finder, type FinderEntry } from "./finder.tsx";
import { openFind } from "./open-find.ts";
import { isHelpOpen, isPanelOpen } from "./layout.ts";
import { insertPrompt } from "./prompts.tsx";
import { sharedId } from "./share-dialog.tsx";
import { LANGUAGE_TAGS, LANGUAGES, t } from "../texts/texts.ts";

export const isPaletteOpen = signal(false);

/** Entries shown at once. */
const SHOWN_MAX = 12;

export function Palette() {
  if (!isPaletteOpen.value) return null;
  return (
    <Finder
      label={t.palette.title}
      search={t.palette.search}
      matches={t.palette.matches}
      none={t.palette.none}
      entries={entries()}
      most={SHOWN_MAX}
      onClose={() => (isPaletteOpen.value = false)}
    />
  );
}

function entries(): readonly FinderEntry[] {
  const conversation = current.value;
  const action = (name: string, run: () => void): FinderEntry => ({ note: t.palette.action, name, run });
  const inConversation: readonly FinderEntry[] =
    conversation === undefined
      ? []
      : [
          action(t.chat.settings, () => (isPanelOpen.value = !isPanelOpen.value)),
          ...(conversation.messages.length === 0
            ? []
            : [
                action(t.find.title, () => void openFind()),
                action(t.share.title, () => (sharedId.value = conversation.id)),
                action(conversation.pinned === true ? t.palette.unpin : t.palette.pin, () =>
                  change(conversation.id, (before) => ({ ...before, pinned: before.pinned !== true })),
                ),
              ]),
          ...(imagesOf(conversation).length === 0
            ? []
            : [action(t.chat.images, () => (isGalleryOpen.value = true))]),
          ...ofKind(models.value ?? [], "text").map(({ id: model }): FinderEntry => ({
            note: t.palette.useModel,
            name: model,
            run: () => {
              change(conversation.id, (before) => ({ ...before, model }));
              setPrefs({ model });
            },
          })),
          ...prompts.value.map((prompt): FinderEntry => ({
            note: t.palette.insertPrompt,
            name: prompt.name,
            run: () => insertPrompt(conversation.id, prompt, "add"),
          })),
          ...assistants.value.map((assistant): FinderEntry => ({
            note: t.palette.useAssistant,
            name: assistant.name,
            run: () => applyAssistant(conversation.id, assistant),
          })),
        ];
  return [
    action(t.chat.new, () => go({ page: "chat" })),
    ...summaries.value.map(({ id, title }): FinderEntry => ({
      note: t.chat.conversation,
      name: title,
      run: () => go({ page: "chat", id }),
    })),
    ...inConversation,
    ...offeredPages.value.map((page): FinderEntry => ({
      note: t.palette.page,
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
