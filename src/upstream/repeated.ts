// Reads chunks of a stream that differ from the one before in their text alone, without parsing their JSON again. Most chunks of
// an answer do: parsing and checking them is a good part of what the hop costs a token.

import { pieceChars } from "./carried.ts";
import { REASONING_FIELDS } from "./forms.ts";
import { REPEATED_MISSES_MAX } from "./limits.ts";
import type { WireChunk } from "./wire.ts";

/** Fields of a delta that hold text. */
const TEXT_FIELDS = ["content", ...REASONING_FIELDS] as const;
type TextField = (typeof TEXT_FIELDS)[number];

/** Characters that are escaped within JSON, or end the string. */
// oxlint-disable-next-line no-control-regex -- control characters are what JSON escapes
const ESCAPED = /["\\\u0000-\u001f]/;

/** A chunk without its text. */
interface Form {
  readonly before: string;
  readonly after: string;
  readonly index: number;
  readonly field: TextField;
}

/** Remembers the last chunk of one stream. */
export class RepeatedChunks {
  private form: Form | undefined;
  private misses = 0; // in a row

  /** The chunk, if it has the form of the last one. */
  read(data: string): WireChunk | undefined {
    const { form } = this;
    if (form === undefined) return undefined;
    const { before, after, index, field } = form;
    const text = data.slice(before.length, data.length - after.length);
    const isSame = data.length === before.length + text.length + after.length;
    if (!isSame || !data.startsWith(before) || !data.endsWith(after) || ESCAPED.test(text)) return undefined;
    this.misses = 0;
    return { choices: [{ index, delta: { [field]: text } }] };
  }

  /** Notes the form of a chunk that was parsed. Some servers put something new into each one: they are given up. */
  learn(data: string, chunk: WireChunk): void {
    this.form = this.misses++ < REPEATED_MISSES_MAX ? formOf(data, chunk) : undefined;
  }
}

/** The form of a chunk that is the text of one choice and nothing else. */
function formOf(data: string, { choices, usage, error }: WireChunk): Form | undefined {
  const [choice, ...others] = choices ?? [];
  const { delta, logprobs, finish_reason: reason, index } = choice ?? {};
  if (others.length > 0 || usage || error || logprobs || reason || !delta || delta.tool_calls)
    return undefined;
  const fields = TEXT_FIELDS.filter((field) => delta[field]);
  const [field] = fields;
  const text = field === undefined ? undefined : delta[field];
  if (field === undefined || fields.length > 1 || typeof text !== "string") return undefined;
  if (delta.refusal || pieceChars(delta) > 0 || ESCAPED.test(text)) return undefined;
  for (const name of [`"${field}":"`, `"${field}": "`]) {
    const at = data.indexOf(name);
    const begin = at + name.length;
    if (at < 0 || data.lastIndexOf(name) !== at || !data.startsWith(`${text}"`, begin)) continue;
    const after = data.slice(begin + text.length);
    return { before: data.slice(0, begin), after, index: index ?? 0, field };
  }
  return undefined;
}
