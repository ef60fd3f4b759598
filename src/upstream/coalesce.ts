// Joins deltas of text, reasoning and tool arguments that follow each other. Pure.

import type { RunEvent } from "../core/run.ts";

/** The events with neighbouring deltas of one place joined. Text with log probabilities is left alone. */
export function coalesced(events: readonly RunEvent[]): readonly RunEvent[] {
  if (events.length < 2) return events;
  const joined: RunEvent[] = [];
  for (const event of events) {
    const last = joined.at(-1);
    const both = last === undefined ? undefined : join(last, event);
    if (both === undefined) joined.push(event);
    else joined[joined.length - 1] = both;
  }
  return joined;
}

function join(last: RunEvent, next: RunEvent): RunEvent | undefined {
  if (last.type === "reasoning" && next.type === "reasoning" && last.choice === next.choice)
    return { ...last, text: last.text + next.text };
  if (last.type === "text" && next.type === "text" && last.choice === next.choice)
    return last.logprobs === undefined && next.logprobs === undefined
      ? { ...last, text: last.text + next.text }
      : undefined;
  if (last.type !== "tool_call_args" || next.type !== "tool_call_args") return undefined;
  const isSame = last.choice === next.choice && last.index === next.index;
  return isSame ? { ...last, delta: last.delta + next.delta } : undefined;
}
