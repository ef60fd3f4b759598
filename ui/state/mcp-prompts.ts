// Prompts of MCP servers, which the menu of prompts offers beside the saved ones.

import { signal } from "@preact/signals";
import type { OfferedPrompt } from "../../src/core/mcp-offers.ts";
import { mcpOffHeader } from "../api/chat.ts";
import { sendIfAvailable, sendForJson } from "../api/client.ts";
import type { Prompt } from "./prompt.ts";
import { notifyOf } from "./toasts.ts";

/** A prompt of a server, as the menu shows it: its text is its description. */
export interface McpPrompt extends Prompt {
  readonly offered: OfferedPrompt;
}

export const mcpPrompts = signal<readonly McpPrompt[]>([]);

const ROUTE = "v1/mcp/prompts";

/** Loads the prompts of a conversation's servers. */
export function loadMcpPrompts(off: readonly string[]): Promise<void> {
  return notifyOf(async () => {
    const found = await sendIfAvailable<{ readonly data: readonly OfferedPrompt[] }>(ROUTE, {
      headers: mcpOffHeader(off),
    });
    mcpPrompts.value = (found?.data ?? []).map((offered) => {
      const { server, name, title, description } = offered;
      const id = `mcp ${server} ${name}`;
      return { id, name: `${server}:${name}`, text: description ?? title ?? name, offered };
    });
  });
}

interface Filled {
  readonly messages: readonly {
    readonly role: string;
    readonly content: string | readonly { readonly type: string }[];
  }[];
}

/** The text of a prompt, and whether it has more than text. Throws ApiError. */
export async function fillMcpPrompt(
  { server, name }: OfferedPrompt,
  values: Readonly<Record<string, string>>,
  off: readonly string[],
): Promise<{ readonly text: string; readonly hasMore: boolean }> {
  const body = { server, name, arguments: values };
  const { messages } = await sendForJson<Filled>(ROUTE, {
    method: "POST",
    body,
    headers: mcpOffHeader(off),
  });
  const texts = messages.flatMap(({ content }) => (typeof content === "string" ? [content] : []));
  return { text: texts.join("\n\n"), hasMore: texts.length < messages.length };
}
