// Sidebar: the conversations of this browser, links to the other pages, theme, import and export.

import {
  Activity,
  Boxes,
  ChartColumn,
  ChevronRight,
  Cpu,
  Download,
  Folder,
  Image,
  Keyboard,
  Monitor,
  Moon,
  SquarePen,
  Sun,
  Upload,
  Volume2,
} from "lucide";
import { useEffect, useState } from "preact/hooks";
import { chooseFile, saveFile } from "../save-file.ts";
import { summaries } from "../state/conversations.ts";
import { type Counts, exportEverything, importEverything } from "../state/everything.ts";
import { prefs, setPrefs } from "../state/prefs.ts";
import { offeredPages } from "../state/offered-pages.ts";
import { addressOf, go, route } from "../state/route.ts";
import { type Hit, hitOf } from "../state/search.ts";
import { findConversations, foldersOf, type Summary } from "../state/storage.ts";
import { notify, notifyOf } from "../state/toasts.ts";
import { ConversationItem } from "./conversation-item.tsx";
import { Icon } from "./icon.tsx";
import { closeListIfNarrow, isHelpOpen, isListOpen } from "./layout.ts";
import { t } from "../texts/texts.ts";

export const SEARCH_ID = "search";
const DAY_MS = 86_400_000;
const SEARCH_PAUSE_MS = 150;
const NO_HITS: ReadonlyMap<string, Hit> = new Map();

export function ConversationList() {
  const [query, setQuery] = useState("");
  const words = query.trim().toLowerCase();
  const hits = useHits(words);
  const [tag, setTag] = useState<string>();
  const tags = [...new Set(summaries.value.flatMap((summary) => summary.tags ?? []))].toSorted();
  const shownTag = tags.find((one) => one === tag);
  const found = summaries.value
    .filter((summary) => shownTag === undefined || summary.tags?.includes(shownTag) === true)
    .filter(({ id, title }) => title.toLowerCase().includes(words) || hits.has(id));
  return (
    <>
      {/* Shown only on narrow screens: a tap outside the list closes it. */}
      <div class="shade" onClick={() => (isListOpen.value = false)} role="presentation" />
      <nav class="list" aria-label={t.list.title}>
        <button type="button" class="new" onClick={() => (go({ page: "chat" }), closeListIfNarrow())}>
          <Icon node={SquarePen} /> {t.chat.new}
        </button>
        <input
          id={SEARCH_ID}
          type="search"
          placeholder={t.list.search}
          aria-label={t.list.search}
          value={query}
          onInput={({ currentTarget }) => setQuery(currentTarget.value)}
        />
        {tags.length > 0 && (
          <div class="tags" role="group" aria-label={t.list.tags}>
            {tags.map((one) => (
              <button
                key={one}
                type="button"
                aria-pressed={one === shownTag}
                onClick={() => setTag(one === shownTag ? undefined : one)}
              >
                {one}
              </button>
            ))}
          </div>
        )}
        <div class="list-items" tabIndex={-1}>
          {found.length === 0 && <p class="faint empty">{query === "" ? t.list.none : t.list.noMatch}</p>}
          <Groups {...{ found, hits, words }} />
        </div>
        <Pages />
      </nav>
    </>
  );
}

interface GroupsProps {
  readonly found: readonly Summary[];
  readonly hits: ReadonlyMap<string, Hit>;
  /** What is searched: shows the matches in folded folders, too. */
  readonly words: string;
}

/** Pinned conversations, then folders, then the others by age. */
function Groups({ found, hits, words }: GroupsProps) {
  const groups = grouped(found.filter(({ pinned, folder }) => pinned === true || folder === undefined));
  const section = ([age, items]: (typeof groups)[number]) => (
    <section key={age} aria-label={t.list[age]}>
      <h2>{t.list[age]}</h2>
      <Items {...{ items, hits, words }} />
    </section>
  );
  return (
    <>
      {groups.filter(([age]) => age === "pinned").map(section)}
      {foldersOf(found).map((name) => {
        const items = found.filter(({ pinned, folder }) => pinned !== true && folder === name);
        return items.length === 0 ? null : <FolderView key={name} {...{ name, items, hits, words }} />;
      })}
      {groups.filter(([age]) => age !== "pinned").map(section)}
    </>
  );
}

interface ItemsProps {
  readonly items: readonly Summary[];
  readonly hits: ReadonlyMap<string, Hit>;
  /** What is searched. */
  readonly words: string;
}

function Items({ items, hits, words }: ItemsProps) {
  return (
    <ul>
      {items.map((summary) => (
        <ConversationItem key={summary.id} summary={summary} hit={hits.get(summary.id)} words={words} />
      ))}
    </ul>
  );
}

/** A folder, which stays folded over visits. */
function FolderView({ name, items, hits, words }: ItemsProps & { readonly name: string }) {
  const { folded } = prefs.value;
  const isOpen = words !== "" || !folded.includes(name);
  const toggle = (): void => {
    const others = folded.filter((one) => one !== name);
    setPrefs({ folded: isOpen ? [...others, name] : others });
  };
  return (
    <section aria-label={t.list.folderNamed(name)}>
      <h2>
        <button type="button" class="fold folder" aria-expanded={isOpen} onClick={toggle}>
          <Icon node={Folder} size={14} />
          <span class="folder-name">{name}</span>
          <span>{items.length}</span>
          <Icon node={ChevronRight} size={13} />
        </button>
      </h2>
      {isOpen && <Items {...{ items, hits, words }} />}
    </section>
  );
}

/** Hits in the conversations that contain a text, by id; searched once typing pauses. */
function useHits(words: string): ReadonlyMap<string, Hit> {
  const [hits, setHits] = useState<ReadonlyMap<string, Hit>>(NO_HITS);
  useEffect(() => {
    if (words === "") return setHits(NO_HITS);
    let isCurrent = true;
    const timer = setTimeout(() => {
      void findConversations((conversation) => hitOf(conversation, words)).then((found) => {
        if (isCurrent) setHits(found);
      });
    }, SEARCH_PAUSE_MS);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [words]);
  return words === "" ? NO_HITS : hits;
}

function Pages() {
  const { page } = route.value;
  const link = {
    images: Image,
    speech: Volume2,
    models: Boxes,
    metrics: Activity,
    system: Cpu,
    usage: ChartColumn,
  } as const;
  return (
    <div class="pages">
      {offeredPages.value.map((name) => (
        <a
          key={name}
          href={addressOf({ page: name })}
          aria-current={page === name ? "page" : undefined}
          onClick={closeListIfNarrow}
        >
          <Icon node={link[name]} /> {t.pages[name]}
        </a>
      ))}
      <div class="tools">
        <ThemeButton />
        <SmallButton label={t.list.export} icon={Download} onClick={() => void notifyOf(exportAll)} />
        <SmallButton label={t.list.import} icon={Upload} onClick={() => void notifyOf(importFile)} />
        <SmallButton label={t.keys.title} icon={Keyboard} onClick={() => (isHelpOpen.value = true)} />
      </div>
    </div>
  );
}

const THEMES = {
  system: { icon: Monitor, next: "light", name: "system" },
  light: { icon: Sun, next: "dark", name: "light" },
  dark: { icon: Moon, next: "system", name: "dark" },
} as const;

function ThemeButton() {
  const { icon, next, name } = THEMES[prefs.value.theme];
  return (
    <SmallButton label={t.list.theme(t.themes[name])} icon={icon} onClick={() => setPrefs({ theme: next })} />
  );
}

interface SmallButtonProps {
  readonly label: string;
  readonly icon: Parameters<typeof Icon>[0]["node"];
  readonly onClick: () => void;
}

function SmallButton({ label, icon, onClick }: SmallButtonProps) {
  return (
    <button type="button" class="ghost" aria-label={label} title={label} onClick={onClick}>
      <Icon node={icon} />
    </button>
  );
}

function pinnedFirst(a: Summary, b: Summary): number {
  return Number(b.pinned === true) - Number(a.pinned === true);
}

async function exportAll(): Promise<void> {
  const text = await exportEverything();
  if (text === undefined) return notify(t.list.nothingToExport);
  saveFile("svc-conversations.json", [text]);
}

async function importFile(): Promise<void> {
  const file = await chooseFile(".json,.zip,application/json");
  const counts = await importEverything(file);
  const said = t.list.imported(listOf(counts), counts.known);
  notify(counts.leftOut === 0 ? said : `${said} ${t.list.leftOut(counts.leftOut)}`);
}

/** What was imported; conversations are named even if there are none. */
function listOf({ conversations, assistants, prompts, images }: Counts): string {
  const parts = [
    t.count.conversation(conversations),
    ...(assistants === 0 ? [] : [t.count.assistant(assistants)]),
    ...(prompts === 0 ? [] : [t.count.prompt(prompts)]),
    ...(images === 0 ? [] : [t.count.image(images)]),
  ];
  return new Intl.ListFormat(t.locale.numbers).format(parts);
}

const AGES = ["pinned", "today", "yesterday", "lastWeek", "earlier"] as const;
type Age = (typeof AGES)[number];

/** Pinned conversations, then the others by age, latest first, without empty groups. */
function grouped(list: readonly Summary[]): readonly (readonly [Age, readonly Summary[]])[] {
  const midnight = new Date().setHours(0, 0, 0, 0);
  const groups = Object.groupBy(list.toSorted(pinnedFirst), ({ updated, pinned }) => {
    if (pinned === true) return "pinned";
    if (updated >= midnight) return "today";
    if (updated >= midnight - DAY_MS) return "yesterday";
    return updated >= midnight - 7 * DAY_MS ? "lastWeek" : "earlier";
  });
  return AGES.flatMap((age) => {
    const items = groups[age];
    return items === undefined ? [] : [[age, items] as const];
  });
}
