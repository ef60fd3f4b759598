// What an upstream has shown of itself: forms of a body that it refuses, names of its reasoning, routes that it lacks. One table of
// corrections: a refusal that names a field of our choosing is answered with another body, not passed on to the client.

import type { Body } from "./common-body.ts";
import { fieldsIn, REASONING_FIELDS } from "./forms.ts";
import { CORRECTIONS_MAX, LACKS_MS } from "./limits.ts";
import type { WireDelta } from "./wire.ts";

interface Row {
  readonly name: string;
  /** What a refusal says. */
  readonly says: RegExp;
  /** Whether the refused body has what is refused, or lacks what is missing. */
  readonly fits: (body: Body) => boolean;
}

const UNKNOWN = /unsupported|not supported|not permitted|not allowed|unexpected|unknown|unrecognized|extra/i;

/** A refusal that says that the server does not know a field, not that it has a wrong value. */
function refuses(field: string): RegExp {
  return new RegExp(`${field}.*(?:${UNKNOWN.source})|(?:${UNKNOWN.source}).*${field}`, "is");
}

/** The first row that fits counts: words that refuse reasoning name the field as well. */
const CORRECTIONS = [
  { name: "no_stream_options", says: /stream_options/i, fits: (body) => "stream_options" in body },
  {
    name: "no_parallel_tool_calls",
    says: /parallel_tool_calls/i,
    fits: (body) => "parallel_tool_calls" in body,
  },
  // Mistral and Groq refuse reasoning in messages.
  {
    name: "no_reasoning",
    says: refuses("reasoning"),
    fits: (body) => assistantsOf(body).some((message) => REASONING_FIELDS.some((name) => name in message)),
  },
  // DeepSeek and Kimi demand the reasoning of calls.
  {
    name: "reasoning_content",
    says: /reasoning_content/i,
    fits: (body) => assistantsOf(body).some((message) => !("reasoning_content" in message)),
  },
  // OpenAI's models that reason, and proxies before them.
  {
    name: "max_completion_tokens",
    says: /max_completion_tokens/i,
    fits: (body) => "max_tokens" in body,
  },
  // Servers that do not know the new name.
  {
    name: "max_tokens",
    says: refuses("max_completion_tokens"),
    fits: (body) => "max_completion_tokens" in body,
  },
] as const satisfies readonly Row[];

/** Another form of the body of a chat completion. */
export type Correction = (typeof CORRECTIONS)[number]["name"];

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

  /**
   * Notes the correction that a refusal asks for. Whether there is one that was not tried, so that the request can be sent again;
   * another request may have been refused for the same and noted it already.
   */
  correct(refusal: string, body: Body, tried: Set<Correction>): boolean {
    const row = CORRECTIONS.find(
      ({ name, says, fits }) => !tried.has(name) && says.test(refusal) && fits(body),
    );
    if (row === undefined || tried.size === CORRECTIONS_MAX) return false;
    tried.add(row.name);
    this.corrections.add(row.name);
    return true;
  }

  /** Notes names of reasoning in a delta. */
  seen(delta: WireDelta): void {
    for (const name of REASONING_FIELDS) if (delta[name]) this.reasoning.add(name);
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

  /** Forgets what it refused and lacked: it may be another server now. */
  restarted(): void {
    this.corrections.clear();
    this.lacking.clear();
  }
}
