// `context_management` of a body: edits of the conversation before the model sees it.

import { type Static, Type } from "@sinclair/typebox";
import type { ContextEdits } from "../../core/agent.ts";
import { unreachable } from "../../core/assert.ts";
import { defined } from "../../core/defined.ts";
import { ServiceError } from "../../core/error.ts";
import { count, OPEN, orNull } from "../../core/schema-fields.ts";
import { isPresent } from "../shared/check.ts";

const Tokens = Type.Object(
  { type: Type.Literal("input_tokens"), value: count("Tokens of the prompt.") },
  { description: "A number of tokens.", ...OPEN },
);
const Uses = Type.Object(
  { type: Type.Literal("tool_uses"), value: count("Calls of tools.") },
  { description: "A number of calls.", ...OPEN },
);

const ClearToolUses = Type.Object(
  {
    type: Type.Literal("clear_tool_uses_20250919"),
    trigger: orNull(
      Type.Union([Tokens, Uses], { description: "When results are left out. Default: 100,000 tokens." }),
    ),
    keep: orNull(Uses),
    clear_at_least: orNull(Tokens),
    exclude_tools: orNull(Type.Array(Type.String(), { description: "Tools whose results stay." })),
    clear_tool_inputs: orNull(
      Type.Union([Type.Boolean(), Type.Array(Type.String())], {
        description: "Leave the arguments out, too; a list of tools counts as true.",
      }),
    ),
  },
  { $id: "ClearToolUsesEdit", description: "Leaves old results of tools out.", ...OPEN },
);

const ClearThinking = Type.Object(
  {
    type: Type.Literal("clear_thinking_20251015"),
    keep: orNull(
      Type.Union(
        [
          Type.Literal("all"),
          Type.Object({ type: Type.Literal("all") }, OPEN),
          Type.Object({ type: Type.Literal("thinking_turns"), value: count("Turns.") }, OPEN),
        ],
        { description: "Turns whose reasoning stays. Default: the last one." },
      ),
    ),
  },
  { $id: "ClearThinkingEdit", description: "Leaves the reasoning of old turns out.", ...OPEN },
);

const Compact = Type.Object(
  {
    type: Type.Literal("compact_20260112"),
    trigger: orNull(Tokens),
    instructions: orNull(Type.String({ description: "What the summary must have." })),
    pause_after_compaction: orNull(
      Type.Boolean({ description: "Whether a compaction is not answered: `stop_reason` is `compaction`." }),
    ),
  },
  { $id: "CompactEdit", description: "Replaces old turns by a summary that the model writes.", ...OPEN },
);

const ContextManagement = Type.Object(
  {
    edits: orNull(
      Type.Array(Type.Union([ClearToolUses, ClearThinking, Compact]), {
        maxItems: 16,
        description: "At most one of each kind.",
      }),
    ),
  },
  { $id: "MessagesContextManagement", description: "Edits of the conversation for this request.", ...OPEN },
);

const Summarize = Type.Object(
  {
    type: Type.Literal("summarize"),
    instructions: orNull(Type.String({ description: "What the summary must have." })),
  },
  {
    $id: "SummarizeCompaction",
    description: "The conversation is compacted and not answered. Not with `context_management`.",
    ...OPEN,
  },
);

export const contextManagementProperties = {
  context_management: orNull(ContextManagement),
  compaction: orNull(Summarize),
};
const Fields = Type.Object(contextManagementProperties);

/** Defaults of the interface. */
const CLEAR_TOKENS = 100_000;
const KEEP_USES = 3;
const COMPACT_TOKENS = 150_000;

/** The edits of a checked body. */
export function editsOf({ context_management: management, compaction }: Static<typeof Fields>): ContextEdits {
  if (isPresent(compaction)) {
    if (isPresent(management)) {
      const message = "compaction and context_management contradict each other; send one of them";
      throw new ServiceError("contradictory_fields", message, { param: "compaction" });
    }
    return { compact: { tokens: 1, pauses: "always", ...instructionsOf(compaction.instructions) } };
  }
  const all = (management?.edits ?? []).map((edit): ContextEdits => {
    switch (edit.type) {
      case "clear_tool_uses_20250919":
        return { clearToolUses: clearToolUses(edit) };
      case "clear_thinking_20251015": {
        const { keep } = edit;
        if (keep === "all" || keep?.type === "all") return {};
        return { clearThinking: { keep: keep?.value ?? 1 } };
      }
      case "compact_20260112": {
        const { trigger, instructions, pause_after_compaction: pause } = edit;
        const pauses = pause === true ? ("after" as const) : undefined;
        const tokens = trigger?.value ?? COMPACT_TOKENS;
        return { compact: { tokens, ...instructionsOf(instructions), ...defined({ pauses }) } };
      }
      default:
        return unreachable(edit);
    }
  });
  return Object.assign({}, ...all) as ContextEdits;
}

function instructionsOf(text: string | null | undefined): { readonly instructions?: string } {
  return isPresent(text) && text.trim() !== "" ? { instructions: text } : {};
}

function clearToolUses(edit: Static<typeof ClearToolUses>): NonNullable<ContextEdits["clearToolUses"]> {
  const { trigger, keep, clear_at_least: least, exclude_tools: exclude, clear_tool_inputs: inputs } = edit;
  const uses = trigger?.type === "tool_uses" ? trigger.value : undefined;
  return {
    trigger: {
      tokens: trigger?.type === "input_tokens" ? trigger.value : CLEAR_TOKENS,
      ...defined({ uses }),
    },
    keep: keep?.value ?? KEEP_USES,
    ...defined({ atLeast: least?.value }),
    exclude: exclude ?? [],
    inputs: isPresent(inputs) && inputs !== false,
  };
}
