// One item of the conversation list: a link, and a menu to rename, export and delete.

import { Download, Ellipsis, Pencil, Trash2 } from "lucide";
import { useEffect, useRef, useState } from "preact/hooks";
import { saveFile } from "../save-file.ts";
import { change, exportedText, openConversation, remove } from "../state/conversations.ts";
import { isRunning } from "../state/running.ts";
import { addressOf, route } from "../state/route.ts";
import type { Summary } from "../state/storage.ts";
import { Icon } from "./icon.tsx";
import { closeListIfNarrow } from "./layout.ts";

interface ItemProps {
  readonly summary: Summary;
  /** A line with what was searched. */
  readonly snippet?: string | undefined;
}

export function ConversationItem({ summary: { id, title }, snippet }: ItemProps) {
  const [mode, setMode] = useState<"link" | "menu" | "name">("link");
  const at = route.value;
  const isCurrent = at.page === "chat" && at.id === id;
  if (mode === "name") return <NameEditor {...{ id, title }} onDone={() => setMode("link")} />;
  return (
    <li class={`item ${isCurrent ? "current" : ""}`}>
      <a
        href={addressOf({ page: "chat", id })}
        aria-current={isCurrent ? "page" : undefined}
        onClick={closeListIfNarrow}
        title={title}
      >
        {isRunning(id) && <span class="dot" role="img" aria-label="Answer in progress" />}
        {title}
        {snippet !== undefined && <span class="snippet faint">{snippet}</span>}
      </a>
      <button
        type="button"
        class="ghost"
        aria-label={`Options for ${title}`}
        aria-expanded={mode === "menu"}
        onClick={() => setMode(mode === "menu" ? "link" : "menu")}
      >
        <Icon node={Ellipsis} size={16} />
      </button>
      {mode === "menu" && (
        <Menu {...{ id, title }} onRename={() => setMode("name")} onDone={() => setMode("link")} />
      )}
    </li>
  );
}

interface MenuProps {
  readonly id: string;
  readonly title: string;
  readonly onRename: () => void;
  readonly onDone: () => void;
}

function Menu({ id, title, onRename, onDone }: MenuProps) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    box.current?.querySelector("button")?.focus();
    const away = (event: Event): void => {
      const isInside =
        event.target instanceof Node && box.current?.parentElement?.contains(event.target) === true;
      if (!isInside) onDone();
    };
    addEventListener("pointerdown", away);
    return () => removeEventListener("pointerdown", away);
  }, []);
  const save = async (): Promise<void> => {
    onDone();
    saveFile(`${title.replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 50)}.json`, [await exportedText([id])]);
  };
  return (
    <div class="menu" ref={box} onKeyDown={(event) => event.key === "Escape" && onDone()} role="presentation">
      <button type="button" onClick={onRename}>
        <Icon node={Pencil} size={16} /> Rename
      </button>
      <button type="button" onClick={() => void save()}>
        <Icon node={Download} size={16} /> Export
      </button>
      <button type="button" class="danger" onClick={() => (onDone(), void remove(id))}>
        <Icon node={Trash2} size={16} /> Delete
      </button>
    </div>
  );
}

interface NameEditorProps {
  readonly id: string;
  readonly title: string;
  readonly onDone: () => void;
}

function NameEditor({ id, title, onDone }: NameEditorProps) {
  const [name, setName] = useState(title);
  const rename = async (): Promise<void> => {
    onDone();
    if (name.trim() === "" || !(await openConversation(id))) return;
    change(id, (before) => ({ ...before, title: name.trim() }));
  };
  return (
    <li class="item">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void rename();
        }}
      >
        <input
          aria-label="Conversation name"
          value={name}
          ref={(input) => input?.focus()}
          onInput={({ currentTarget }) => setName(currentTarget.value)}
          onKeyDown={(event) => event.key === "Escape" && onDone()}
          onBlur={() => void rename()}
        />
      </form>
    </li>
  );
}
