// A dialog that finds one of many entries by a few letters, and does what it stands for.

import { useEffect, useId, useRef, useState } from "preact/hooks";

export interface FinderEntry {
  readonly name: string;
  /** Beside the name: its kind or state. */
  readonly note: string;
  /** Below the name. */
  readonly detail?: string;
  /** It is what holds now: selected at first. */
  readonly isChosen?: boolean;
  readonly run: () => void;
}

interface FinderProps {
  readonly label: string;
  readonly search: string;
  readonly matches: string;
  /** Where nothing fits. */
  readonly none: string;
  readonly entries: readonly FinderEntry[];
  /** Entries shown at once. */
  readonly most: number;
  readonly onClose: () => void;
}

export function Finder({ label, search, matches, none, entries, most, onClose }: FinderProps) {
  const [query, setQuery] = useState("");
  const [chosen, setAt] = useState<number>();
  const box = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => box.current?.showModal(), []);
  const found = matching(entries, query).slice(0, most);
  const first = Math.max(
    0,
    found.findIndex(({ isChosen }) => isChosen === true),
  );
  const at = chosen ?? (query === "" ? first : 0);
  const selected = found[at];
  const run = (entry: FinderEntry | undefined): void => {
    box.current?.close();
    entry?.run();
  };
  useEffect(
    () => box.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" }),
    [at],
  );
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
      aria-label={label}
      onClose={onClose}
      onClick={({ target }) => target === box.current && box.current?.close()}
    >
      <input
        role="combobox"
        aria-label={search}
        aria-controls={id}
        aria-expanded="true"
        aria-autocomplete="list"
        aria-activedescendant={selected === undefined ? undefined : `${id}-${at}`}
        placeholder={search}
        value={query}
        ref={(input) => input?.focus()}
        onInput={({ currentTarget }) => (setQuery(currentTarget.value), setAt(undefined))}
        onKeyDown={onKeyDown}
      />
      <Options {...{ id, label: matches, found, at }} onPoint={setAt} onPick={run} />
      {found.length === 0 && <p class="faint">{none}</p>}
    </dialog>
  );
}

interface OptionsProps {
  readonly id: string;
  readonly label: string;
  readonly found: readonly FinderEntry[];
  readonly at: number;
  readonly onPoint: (index: number) => void;
  readonly onPick: (entry: FinderEntry) => void;
}

function Options({ id, label, found, at, onPoint, onPick }: OptionsProps) {
  return (
    <ul id={id} role="listbox" aria-label={label} tabIndex={-1}>
      {found.map((entry, index) => (
        <li
          key={`${entry.note} ${entry.name} ${index}`}
          id={`${id}-${index}`}
          role="option"
          aria-selected={index === at}
          onPointerMove={() => index !== at && onPoint(index)}
          onClick={() => onPick(entry)}
        >
          <span>
            {entry.name}
            {entry.detail !== undefined && entry.detail !== "" && (
              <span class="detail faint">{entry.detail}</span>
            )}
          </span>
          <span class="faint">{entry.note}</span>
        </li>
      ))}
    </ul>
  );
}

/** Entries that contain all words, those whose name begins with the query first. */
function matching(all: readonly FinderEntry[], query: string): readonly FinderEntry[] {
  const text = query.trim().toLowerCase();
  const words = text.split(/\s+/);
  const found = all.filter(({ name, note, detail = "" }) => {
    const where = `${name} ${note} ${detail}`.toLowerCase();
    return words.every((word) => where.includes(word));
  });
  const isFirst = ({ name }: FinderEntry): boolean => name.toLowerCase().startsWith(text);
  return text === "" ? found : [...found.filter(isFirst), ...found.filter((entry) => !isFirst(entry))];
}
