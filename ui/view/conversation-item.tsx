// One item of the conversation list: a link, and a menu to rename, pin, tag, share, copy and delete.

import { Copy, Folder, Pencil, Pin, PinOff, Share, Tag, Trash2 } from "lucide";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import {
  add,
  change,
  conversationOf,
  openConversation,
  remove,
  save,
  summaries,
} from "../state/conversations.ts";
import type { Conversation } from "../state/conversation.ts";
import { find } from "../state/find.ts";
import { newId } from "../state/new-id.ts";
import { isRunning } from "../state/running.ts";
import { addressOf, route } from "../state/route.ts";
import type { Hit } from "../state/search.ts";
import { foldersOf, type Summary } from "../state/storage.ts";
import { Dialog } from "./dialog.tsx";
import { Form } from "./fields.tsx";
import { Icon } from "./icon.tsx";
import { closeListIfNarrow } from "./layout.ts";
import { Menu, type MenuItem } from "./menu.tsx";
import { sharedId } from "./share-dialog.tsx";
import { t } from "../texts/texts.ts";

/** What can be edited as a line of text. */
type Edited = "name" | "tags" | "folder";

interface ItemProps {
  readonly summary: Summary;
  /** The message with what was searched. */
  readonly hit?: Hit | undefined;
  readonly words: string;
}

export function ConversationItem({ summary, hit, words }: ItemProps) {
  const { id, title, pinned = false, tags = [] } = summary;
  const [edited, setEdited] = useState<Edited>();
  const at = route.value;
  const isCurrent = at.page === "chat" && at.id === id;
  const items: readonly MenuItem[] = [
    { label: t.list.rename, icon: Pencil, run: () => setEdited("name") },
    {
      label: pinned ? t.list.unpin : t.list.pin,
      icon: pinned ? PinOff : Pin,
      run: () => void edit(id, (before) => ({ ...before, pinned: !pinned })),
    },
    { label: t.list.moveToFolder, icon: Folder, run: () => setEdited("folder") },
    { label: t.list.tags, icon: Tag, run: () => setEdited("tags") },
    { label: t.list.share, icon: Share, run: () => (sharedId.value = id) },
    { label: t.list.duplicate, icon: Copy, run: () => void duplicate(id) },
    { label: t.common.delete, icon: Trash2, isDanger: true, run: () => void remove(id) },
  ];
  return (
    <li class={`item ${isCurrent ? "current" : ""}`}>
      <a
        href={addressOf({ page: "chat", id })}
        aria-current={isCurrent ? "page" : undefined}
        onClick={() => {
          closeListIfNarrow();
          if (hit !== undefined) find.value = { conversation: id, words, at: hit.message };
        }}
        title={title}
      >
        {isRunning(id) && <span class="dot" role="img" aria-label={t.list.inProgress} />}
        {pinned && <Icon node={Pin} size={13} />}
        {title}
        {tags.length > 0 && <span class="item-tags faint">{tags.join(" · ")}</span>}
        {hit !== undefined && <span class="snippet faint">{hit.line}</span>}
      </a>
      <Menu label={t.list.optionsFor(title)} items={items} />
      {edited !== undefined && <Editor {...{ summary }} what={edited} onDone={() => setEdited(undefined)} />}
    </li>
  );
}

/** Changes a conversation that may not be open. */
async function edit(id: string, how: (conversation: Conversation) => Conversation): Promise<void> {
  if (!(await openConversation(id))) return;
  change(id, how);
  await save(id);
}

async function duplicate(id: string): Promise<void> {
  const conversation = (await openConversation(id)) ? conversationOf(id) : undefined;
  if (conversation === undefined) return;
  const now = Date.now();
  const title = t.chat.copied(conversation.title);
  add({ ...conversation, id: newId(), title, created: now, updated: now, pinned: false, session: null });
}

interface EditorProps {
  readonly summary: Summary;
  readonly what: Edited;
  readonly onDone: () => void;
}

/** A dialog for the name, the folder, or the tags with commas between them. */
function Editor({ summary: { id, title, tags = [], folder = "" }, what, onDone }: EditorProps) {
  const [text, setText] = useState({ name: title, tags: tags.join(", "), folder }[what]);
  const folders = useId();
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => box.current?.select(), []); // what is typed replaces what was there
  const submit = (): void => {
    onDone();
    const name = text.trim();
    if (what === "folder") void edit(id, (before) => inFolder(before, name));
    else if (what === "tags") void edit(id, (before) => ({ ...before, tags: tagsOf(text) }));
    else if (name !== "") void edit(id, (before) => ({ ...before, title: name }));
  };
  const { heading, label, hint } = editorTexts()[what];
  return (
    <Dialog title={heading} onClose={onDone}>
      <Form onSubmit={submit}>
        {what !== "name" && <p class="faint">{t.list.ofConversation(title)}</p>}
        <label class="field">
          <span>{label}</span>
          <input
            placeholder={hint}
            list={folders}
            value={text}
            ref={box}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </label>
        <datalist id={folders}>
          {what === "folder" && foldersOf(summaries.value).map((one) => <option key={one} value={one} />)}
        </datalist>
        <p class="row">
          <button type="submit">{t.common.save}</button>
          <button type="button" onClick={onDone}>
            {t.common.cancel}
          </button>
        </p>
      </Form>
    </Dialog>
  );
}

const editorTexts = () => ({
  name: { heading: t.list.rename, label: t.list.nameLabel, hint: "" },
  tags: { heading: t.list.tags, label: t.list.tagsLabel, hint: t.list.tagsHint },
  folder: { heading: t.list.moveToFolder, label: t.list.folderLabel, hint: t.list.folderHint },
});

function inFolder(conversation: Conversation, name: string): Conversation {
  const { folder: _, ...rest } = conversation;
  return name === "" ? rest : { ...rest, folder: name };
}

function tagsOf(text: string): string[] {
  const tags = text.split(",").map((tag) => tag.trim());
  return [...new Set(tags.filter((tag) => tag !== ""))];
}
