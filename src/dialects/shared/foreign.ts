// What other servers wrote into a history: text of it for the model, and what is left out. A history is never refused because
// of a type that this server does not know.

import type { Compat } from "../../core/compat.ts";
import { isObject } from "../../core/json.ts";
import { brief } from "../../core/shorten.ts";
import { FOREIGN_TEXT_CHARS_MAX } from "./limits.ts";

/** Members that mean something to the server alone that wrote them, or only to a reader of this JSON. */
export const OPAQUE: ReadonlySet<string> = new Set([
  "signature",
  "cache_control",
  "status",
  "id",
  "type",
  "caller",
]);
/** Base64 in strings: long, and without spaces. */
const BASE64 = /^(?:data:[\w/+.-]+;base64,)?[A-Za-z0-9+/=_-]{512,}$/;

/** Text of a value for the model: texts as they are, other values as JSON without what is opaque. */
export function foreignText(value: unknown): string {
  const text = plainText(value) ?? JSON.stringify(pruned(value, 0)) ?? "";
  return brief(text, FOREIGN_TEXT_CHARS_MAX);
}

/** Texts, alone or in parts; undefined for anything else. */
function plainText(value: unknown): string | undefined {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  const parts = Array.isArray(value) ? value : [value];
  const texts = parts.map((part: unknown) => (isObject(part) ? part["text"] : part));
  return texts.every((text) => typeof text === "string") ? texts.join("\n") : undefined;
}

const DEPTH_MAX = 16;

function pruned(value: unknown, depth: number): unknown {
  if (typeof value === "string") return BASE64.test(value) ? "[data]" : value;
  if (typeof value !== "object" || value === null) return value;
  if (depth > DEPTH_MAX) return "…";
  if (Array.isArray(value)) return value.map((one) => pruned(one, depth + 1));
  const isReadable = (key: string): boolean =>
    !key.startsWith("encrypted_") && (depth > 2 || !OPAQUE.has(key));
  const kept = Object.entries(value).filter(([key, one]) => one !== null && isReadable(key));
  return Object.fromEntries(kept.map(([key, one]) => [key, pruned(one, depth + 1)]));
}

/** What tells the known parts of a list from others. */
export interface PartRules {
  readonly compat: Compat;
  readonly known: ReadonlySet<unknown>;
  /** Nothing may remain: what the client asks now is elsewhere. */
  readonly mayEmpty: boolean;
  /** Stands for a part that is left out, so that the paths of later ones stay valid. */
  readonly empty: Readonly<Record<string, unknown>>;
  /** The part in a form that is known; undefined if it is unknown. */
  readonly adapted?: (
    part: Readonly<Record<string, unknown>>,
  ) => Readonly<Record<string, unknown>> | undefined;
}

/** Whether a value can be the name of a type; others are mistakes. */
function isTypeName(type: unknown): type is string {
  return typeof type === "string" && /^[A-Za-z][\w.-]{0,63}$/.test(type);
}

/**
 * A list of tagged parts in which those of unknown types are adapted, or left out and reported. Where something has to remain
 * and nothing would, the list stays as it is, and the schema check says which types there are.
 */
export function knownParts(parts: unknown, { compat, known, empty, adapted, mayEmpty }: PartRules): unknown {
  if (!Array.isArray(parts)) return parts;
  const left: string[] = [];
  const kept = parts.map((part: unknown) => {
    if (!isObject(part) || !isTypeName(part["type"]) || known.has(part["type"])) return part;
    const other = adapted?.(part);
    if (other === undefined) left.push(part["type"]);
    return other ?? empty;
  });
  if (left.length === 0) return kept;
  if (left.length === parts.length && !mayEmpty) return parts;
  for (const type of left) compat.note("history_item", type);
  return kept;
}
