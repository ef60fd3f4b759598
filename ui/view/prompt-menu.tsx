// Menu of saved prompts above the message box, while that has a slash and a part of a name.

import { useState } from "preact/hooks";
import { type Prompt, promptsFor } from "../state/prompt.ts";
import { prompts } from "../state/prompts.ts";
import { insertPrompt } from "./prompts.tsx";
import { t } from "../texts/texts.ts";

/** Prompts shown at once. */
const SHOWN_MAX = 8;
const MENU_ID = "prompt-menu";

const optionId = (index: number): string => `${MENU_ID}-${index}`;

export interface PromptMenu {
  readonly found: readonly Prompt[];
  readonly at: number;
  readonly pick: (prompt: Prompt | undefined) => void;
  /** Handles a key of the message box; false if the menu has no use for it. */
  readonly onKeyDown: (event: KeyboardEvent) => boolean;
}

export function usePromptMenu(conversationId: string, text: string): PromptMenu {
  const [{ of, at }, setAt] = useState({ of: "", at: 0 });
  const [closedFor, setClosedFor] = useState<string>();
  const found = text === closedFor ? [] : promptsFor(text, prompts.value).slice(0, SHOWN_MAX);
  const selected = of === text ? Math.min(at, found.length - 1) : 0;
  const pick = (prompt: Prompt | undefined): void => {
    if (prompt !== undefined) insertPrompt(conversationId, prompt, "replace");
  };
  const onKeyDown = (event: KeyboardEvent): boolean => {
    if (found.length === 0 || event.isComposing) return false;
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) setAt({ of: text, at: (selected + step + found.length) % found.length });
    else if (event.key === "Escape") setClosedFor(text);
    else if (event.key === "Tab" || (event.key === "Enter" && !event.shiftKey)) pick(found[selected]);
    else return false;
    event.preventDefault();
    event.stopPropagation(); // Escape would stop an answer
    return true;
  };
  return { found, at: selected, pick, onKeyDown };
}

/** Attributes of the message box while the menu is shown. */
export function menuAttributes({ found, at }: PromptMenu) {
  if (found.length === 0) return {};
  return {
    "aria-autocomplete": "list",
    "aria-controls": MENU_ID,
    "aria-activedescendant": optionId(at),
  } as const;
}

export function PromptMenuView({ menu: { found, at, pick } }: { readonly menu: PromptMenu }) {
  if (found.length === 0) return null;
  return (
    <ul id={MENU_ID} class="prompt-menu" role="listbox" aria-label={t.prompts.title}>
      {found.map((prompt, index) => (
        <li
          key={prompt.id}
          id={optionId(index)}
          role="option"
          aria-selected={index === at}
          onPointerDown={(event) => (event.preventDefault(), pick(prompt))}
        >
          <strong>/{prompt.name}</strong>
          <span class="faint">{prompt.text.split("\n", 1)[0]}</span>
        </li>
      ))}
    </ul>
  );
}
