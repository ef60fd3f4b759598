// Blocks of a conversation's beginning: each has a hash of all text up to its end, so that equal hashes mean equal beginnings,
// as in a prefix cache. Pure.

import type { Prompt } from "../core/run.ts";
import { BLOCK_CHARS, BLOCKS_MAX } from "./limits.ts";

/** Hashes of the blocks of a prompt, the shortest beginning first. Empty for a prompt shorter than one block. */
export function blocksOf(prompt: Prompt): readonly number[] {
  const text = beginningOf(prompt, BLOCK_CHARS * BLOCKS_MAX);
  const hashes: number[] = [];
  let hash = 0n;
  for (let at = 0; at + BLOCK_CHARS <= text.length; at += BLOCK_CHARS) {
    hash = Bun.hash.wyhash(text.slice(at, at + BLOCK_CHARS), hash);
    hashes.push(Number(hash & 0x1f_ffff_ffff_ffffn));
  }
  return hashes;
}

/** Routing hash of a request without blocks: all of its text. */
export function keyOf(prompt: Prompt): number {
  return Number(Bun.hash.wyhash(beginningOf(prompt, BLOCK_CHARS)) & 0x1f_ffff_ffff_ffffn);
}

/** Text of a prompt in the order in which templates write it: tools, then messages. */
function beginningOf(prompt: Prompt, chars: number): string {
  switch (prompt.type) {
    case "text":
      return prompt.text.slice(0, chars);
    case "tokens":
      return prompt.tokens.slice(0, chars).join(" ").slice(0, chars);
    case "gap":
      return prompt.before.slice(0, chars);
    case "chat": {
      let text = "";
      for (const { name, description = "", parameters } of prompt.tools) {
        text += `${name}\n${description}\n${JSON.stringify(parameters)}\n`;
        if (text.length >= chars) return text.slice(0, chars);
      }
      for (const { role, content, toolCalls = [] } of prompt.messages) {
        text += `${role}\n`;
        for (const part of content) text += part.type === "text" ? part.text : part.data.slice(0, chars);
        for (const call of toolCalls) text += `${call.name}${call.arguments}`;
        text += "\n";
        if (text.length >= chars) return text.slice(0, chars);
      }
      return text;
    }
  }
}
