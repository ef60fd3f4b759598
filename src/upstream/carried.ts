// Fields of an upstream's calls that have to go back to it in later rounds, whatever their name: thought signatures, details of
// reasoning. Clients of most dialects cannot carry them, so they are remembered by call. Bounded; knows no API.

import { jsonIn } from "../core/json.ts";
import type { ToolCall } from "../core/message.ts";
import { fieldsIn } from "./forms.ts";
import { CARRIED_BYTES_MAX, CARRIED_CALL_BYTES_MAX } from "./limits.ts";

export type Fields = Readonly<Record<string, unknown>>;

/** What an upstream sent beside a call. */
export interface Carried {
  /** Fields of the message. */
  readonly message: Fields;
  /** Fields of the call and of its `function`. */
  readonly call: Fields;
  readonly function: Fields;
  /** The message's reasoning, for clients that do not send it back. */
  readonly reasoning: string;
}

/** A call of an answer, by which it is recognized in a later request. */
export interface CallKey extends Omit<ToolCall, "namespace"> {
  /** The client, so that equal ids of two clients do not meet. */
  readonly client: string;
}

/** Remembers the fields of recent calls; the least recently used are forgotten first. */
export class CarriedFields {
  private readonly entries = new Map<string, { readonly carried: Carried; readonly bytes: number }>();
  private bytes = 0;

  /** Keeps what came with a call. What is empty or larger than its bound is not kept. */
  keep(key: CallKey, carried: Carried): void {
    const bytes = JSON.stringify(carried).length;
    const parts = [carried.message, carried.call, carried.function];
    const isEmpty = carried.reasoning === "" && parts.every((fields) => Object.keys(fields).length === 0);
    if (isEmpty || bytes > CARRIED_CALL_BYTES_MAX) return;
    const name = nameOf(key);
    this.drop(name);
    this.entries.set(name, { carried, bytes });
    this.bytes += bytes;
    for (const oldest of this.entries.keys()) {
      if (this.bytes <= CARRIED_BYTES_MAX) return;
      this.drop(oldest);
    }
  }

  /** What came with a call; undefined if it is not known. */
  find(key: CallKey): Carried | undefined {
    const name = nameOf(key);
    const entry = this.entries.get(name);
    if (entry === undefined) return undefined;
    this.entries.delete(name);
    this.entries.set(name, entry);
    return entry.carried;
  }

  private drop(name: string): void {
    this.bytes -= this.entries.get(name)?.bytes ?? 0;
    this.entries.delete(name);
  }
}

function nameOf({ client, id, name, arguments: args }: CallKey): string {
  return Bun.hash(JSON.stringify([client, id, name, valueOf(args)])).toString(36);
}

/** What arguments mean: clients of some dialects have them as an object, which comes back as another text. */
function valueOf(args: string): unknown {
  return jsonIn(args === "" ? "{}" : args) ?? args;
}

/** Fields that have a place of their own in an answer, or mean nothing in a request. */
const OWN: ReadonlySet<string> = new Set([
  "annotations",
  "arguments",
  "audio",
  "content",
  "function",
  "function_call",
  "id",
  "index",
  "name",
  "reasoning",
  "reasoning_content",
  "refusal",
  "role",
  "tool_calls",
  "type",
]);

/** The fields so far with those of another piece of the same message or call. */
export function withPiece(fields: Fields, piece: unknown): Fields {
  const added = Object.entries(fieldsIn(piece)).filter(([name, value]) => !OWN.has(name) && value !== null);
  if (added.length === 0) return fields;
  return {
    ...fields,
    ...Object.fromEntries(added.map(([name, value]) => [name, joined(fields[name], value)])),
  };
}

/** Characters of such fields in a piece. */
export function pieceChars(piece: unknown): number {
  let chars = 0;
  for (const [name, value] of Object.entries(fieldsIn(piece))) {
    if (OWN.has(name) || value === null || value === undefined) continue;
    chars += name.length + (typeof value === "string" ? value : JSON.stringify(value)).length;
  }
  return chars;
}

/** Pieces of a streamed value: texts go on, lists grow, entries with the same `index` and objects are joined. */
function joined(before: unknown, piece: unknown): unknown {
  if (typeof before === "string" && typeof piece === "string") return before + piece;
  if (Array.isArray(before) && Array.isArray(piece))
    return piece.reduce<readonly unknown[]>(withEntry, before);
  if (
    Array.isArray(before) ||
    Array.isArray(piece) ||
    typeof before !== "object" ||
    typeof piece !== "object"
  )
    return piece;
  const old = fieldsIn(before);
  const added = Object.entries(fieldsIn(piece)).map(([name, value]) => {
    return [name, LABELS.has(name) ? value : joined(old[name], value)] as const;
  });
  return { ...old, ...Object.fromEntries(added) };
}

/** Fields of entries that name them: they are repeated in each piece and not continued. */
const LABELS: ReadonlySet<string> = new Set(["format", "id", "index", "type"]);

function withEntry(list: readonly unknown[], entry: unknown): readonly unknown[] {
  const { index, type } = fieldsIn(entry);
  const at =
    index === undefined
      ? -1
      : list.findIndex((other) => fieldsIn(other)["index"] === index && fieldsIn(other)["type"] === type);
  return at < 0 ? [...list, entry] : list.with(at, joined(list[at], entry));
}
