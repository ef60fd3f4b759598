// What an upstream has shown of itself: forms of a body that it refuses, names of its reasoning, routes that it lacks. One table of
// corrections: a refusal that names a field of our choosing is answered with another body, not passed on to the client.

import type { Body } from "./common-body.ts";
import { fieldsIn, REASONING_FIELDS } from "./forms.ts";
import { LACKS_MS } from "./limits.ts";

/** Another form of the body of a chat completion. */
export type Correction =
  | "max_completion_tokens"
  | "max_tokens"
  | "no_parallel_tool_calls"
  | "no_reasoning"
  | "no_stream_options"
  | "reasoning_content";

interface Row {
  /** What a refusal says. */
  readonly says: RegExp;
  /** Whether the refused body has what is refused, or lacks what is missing. */
  readonly fits: (body: Body) => boolean;
}

const UNKNOWN = /unsupported|not supported|not permitted|not allowed|unexpected|unknown|unrecognized|extra/i;

const CORRECTIONS: Readonly<Record<Correction, Row>> = {
  // OpenAI's models that reason, and proxies before them.
  max_completion_tokens: { says: /max_completion_tokens/i, fits: (body) => "max_tokens" in body },
  // Servers that do not know the new name.
  max_tokens: { says: /max_completion_tokens/i, fits: (body) => "max_completion_tokens" in body },
  no_parallel_tool_calls: { says: /parallel_tool_calls/i, fits: (body) => "parallel_tool_calls" in body },
  // Mistral and Groq refuse reasoning in messages.
  no_reasoning: {
    says: new RegExp(`reasoning.*(?:${UNKNOWN.source})|(?:${UNKNOWN.source}).*reasoning`, "is"),
    fits: (body) => assistantsOf(body).some((message) => REASONING_FIELDS.some((name) => name in message)),
  },
  no_stream_options: { says: /stream_options/i, fits: (body) => "stream_options" in body },
  // DeepSeek and Kimi demand the reasoning of calls.
  reasoning_content: {
    says: /reasoning_content/i,
    fits: (body) => assistantsOf(body).some((message) => !("reasoning_content" in message)),
  },
};

/** The order matters: words that refuse reasoning name the field as well. */
const ORDER: readonly Correction[] = [
  "no_stream_options",
  "no_parallel_tool_calls",
  "no_reasoning",
  "reasoning_content",
  "max_completion_tokens",
  "max_tokens",
];

function assistantsOf({ messages }: Body): readonly Body[] {
  const list: readonly unknown[] = Array.isArray(messages) ? messages : [];
  return list.map(fieldsIn).filter(({ role }) => role === "assistant");
}

/** Knowledge of one upstream, gathered from its answers. */
export class Learned {
  readonly corrections = new Set<Correction>();
  /** Names under which it has sent reasoning. */
  readonly reasoning = new Set<string>();
  private readonly lacking = new Map<string, number>(); // route → milliseconds of the clock
  private readonly now: () => number;

  constructor(now: () => number) {
    this.now = now;
  }

  /** Notes the correction that a refusal asks for. Whether there is a new one, so that the request can be sent again. */
  correct(refusal: string, body: Body): boolean {
    const name = ORDER.find(
      (one) =>
        !this.corrections.has(one) && CORRECTIONS[one].says.test(refusal) && CORRECTIONS[one].fits(body),
    );
    if (name !== undefined) this.corrections.add(name);
    return name !== undefined;
  }

  /** Notes names of reasoning in a delta. */
  seen(delta: object): void {
    for (const name of REASONING_FIELDS) if (name in delta && fieldsIn(delta)[name]) this.reasoning.add(name);
  }

  /** Notes that it has no such route. */
  lacks(path: string): void {
    this.lacking.set(path, this.now());
  }

  /** Whether it was without the route not long ago. */
  isLacking(path: string): boolean {
    const since = this.lacking.get(path);
    return since !== undefined && this.now() - since < LACKS_MS;
  }

  /** Forgets routes: it may be another server now. */
  restarted(): void {
    this.lacking.clear();
  }
}
