// Menu of saved prompts, and of those of MCP servers, above the message box, while that has a slash and a part of a name.

import { useEffect, useState } from "preact/hooks";
import type { OfferedPrompt } from "../../src/core/mcp-offers.ts";
import type { Conversation } from "../state/conversation.ts";
import { fillMcpPrompt, loadMcpPrompts, type McpPrompt, mcpPrompts } from "../state/mcp-prompts.ts";
import { type Prompt, promptsFor } from "../state/prompt.ts";
import { prompts } from "../state/prompts.ts";
import { notify, notifyOf } from "../state/toasts.ts";
import { McpPromptDialog } from "./mcp-prompt-dialog.tsx";
import { insertPrompt } from "./prompts.tsx";
import { t } from "../texts/texts.ts";

/** Prompts shown at once. */
const SHOWN_MAX = 8;
const MENU_ID = "prompt-menu";

const optionId = (index: number): string => `${MENU_ID}-${index}`;

export interface PromptMenu {
  readonly found: readonly (Prompt | McpPrompt)[];
  readonly at: number;
  readonly pick: (prompt: Prompt | McpPrompt | undefined) => void;
  /** The prompt of an MCP server whose arguments are asked for. */
  readonly asked: OfferedPrompt | undefined;
  readonly fill: (offered: OfferedPrompt, values: Readonly<Record<string, string>>) => Promise<void>;
  readonly close: () => void;
  /** Handles a key of the message box; false if the menu has no use for it. */
  readonly onKeyDown: (event: KeyboardEvent) => boolean;
}

export function usePromptMenu({ id, settings }: Conversation, text: string): PromptMenu {
  const [{ of, at }, setAt] = useState({ of: "", at: 0 });
  const [closedFor, setClosedFor] = useState<string>();
  const [asked, setAsked] = useState<OfferedPrompt>();
  const off = settings.mcp_off ?? [];
  const isWanted = text.startsWith("/");
  useEffect(() => void (isWanted && loadMcpPrompts(off)), [isWanted, id]);
  const known = [...prompts.value, ...mcpPrompts.value];
  const found = text === closedFor ? [] : promptsFor(text, known).slice(0, SHOWN_MAX);
  const selected = of === text ? Math.min(at, found.length - 1) : 0;
  const fill: PromptMenu["fill"] = async (offered, values) => {
    const filled = await fillMcpPrompt(offered, values, off);
    insertPrompt(id, { id: "", name: offered.name, text: filled.text }, "replace");
    if (filled.hasMore) notify(t.prompts.textOnly);
  };
  const pick: PromptMenu["pick"] = (prompt) => {
    if (prompt === undefined) return;
    if (!("offered" in prompt)) return insertPrompt(id, prompt, "replace");
    if (prompt.offered.arguments.length > 0) return setAsked(prompt.offered);
    void notifyOf(() => fill(prompt.offered, {}));
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
  return { found, at: selected, pick, asked, fill, close: () => setAsked(undefined), onKeyDown };
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

export function PromptMenuView({ menu }: { readonly menu: PromptMenu }) {
  const { found, at, pick, asked, fill, close } = menu;
  if (asked !== undefined)
    return <McpPromptDialog offered={asked} onFill={(values) => fill(asked, values)} onClose={close} />;
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
