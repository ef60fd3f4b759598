// Repairs results of MCP servers before the SDK validates them: the SDK rejects a whole list for one malformed tool, and a whole
// tool result for one content block that it does not know. Pure.

import { isObject } from "../core/json.ts";

export interface Repaired {
  readonly result: unknown;
  /** What was repaired or left out, one line each. */
  readonly faults: readonly string[];
}

type Fields = Readonly<Record<string, unknown>>;

/** Repairs the result of a request; results of other methods are returned as they are. */
export function repairResult(method: string, result: unknown): Repaired {
  if (!isObject(result)) return { result, faults: [] };
  switch (method) {
    case "tools/list":
      return repairList(result, "tools", toolOf);
    case "resources/list":
      return repairList(result, "resources", (entry) => namedEntry(entry, "uri", "resource"));
    case "resources/templates/list":
      return repairList(result, "resourceTemplates", (entry) =>
        namedEntry(entry, "uriTemplate", "resource template"),
      );
    case "prompts/list":
      return repairList(result, "prompts", promptOf);
    case "tools/call":
      return { result: callResult(result), faults: [] };
    default:
      return { result, faults: [] };
  }
}

/** An entry of a list: as it is used, with its faults, or only the reason why it is skipped. */
interface Entry {
  readonly value?: Fields;
  readonly faults: readonly string[];
}

function repairList(result: Fields, key: string, repair: (entry: unknown) => Entry): Repaired {
  const { nextCursor, ttlMs, cacheScope, ...rest } = result;
  const list = result[key];
  const entries = Array.isArray(list) ? list.map(repair) : [{ faults: [`its list of ${key} is no list`] }];
  return {
    result: {
      ...rest,
      ...(typeof nextCursor === "string" ? { nextCursor } : {}),
      ttlMs: typeof ttlMs === "number" && Number.isInteger(ttlMs) && ttlMs >= 0 ? ttlMs : 0,
      cacheScope: cacheScope === "public" ? "public" : "private",
      [key]: entries.flatMap((entry: Entry) => entry.value ?? []),
    },
    faults: entries.flatMap(({ faults }: Entry) => faults),
  };
}

/**
 * The parts of a tool that svc uses. Its output schema and annotations are left out: a model reads results of any form, and the
 * SDK rejects results that differ from the schema.
 */
function toolOf(entry: unknown): Entry {
  const skipped = nameFault(entry, "name", "tool");
  if (skipped !== undefined || !isObject(entry)) return { faults: [skipped ?? "a tool is no object"] };
  const { name, title, description, inputSchema } = entry;
  const schema = schemaOf(inputSchema);
  const isText = description === undefined || typeof description === "string";
  const faults = [
    ...schema.faults,
    ...(isText ? [] : [`its description is ${kindOf(description)} and is ignored`]),
  ];
  return {
    value: {
      name,
      ...(typeof title === "string" ? { title } : {}),
      ...(typeof description === "string" ? { description } : {}),
      inputSchema: schema.value,
    },
    faults: faults.map((fault) => `tool ${shown(name)}: ${fault}`),
  };
}

interface RepairedSchema {
  readonly value: Fields;
  readonly faults: readonly string[];
}

/** The input schema as one of an object. */
function schemaOf(schema: unknown): RepairedSchema {
  if (!isObject(schema)) {
    const what = schema === undefined ? "it has no inputSchema" : `its inputSchema is ${kindOf(schema)}`;
    return { value: { type: "object" }, faults: [`${what}; any arguments are allowed`] };
  }
  const { type, properties, required, $schema, ...rest } = schema;
  const faults = [
    ...(type === "object" ? [] : [`its inputSchema has no type "object", which is added`]),
    ...(properties === undefined || isObject(properties)
      ? []
      : ["the properties of its inputSchema are ignored"]),
    ...(required === undefined || isTexts(required)
      ? []
      : [`required in its inputSchema is no list of names and is ignored`]),
  ];
  return {
    value: {
      ...(typeof $schema === "string" ? { $schema } : {}),
      ...rest,
      type: "object",
      ...(isObject(properties) ? { properties: withoutBooleans(properties) } : {}),
      ...(isTexts(required) ? { required } : {}),
    },
    faults,
  };
}

/** `true` as a schema allows anything, as `{}` does, which every version of the protocol accepts. */
function withoutBooleans(properties: Fields): Fields {
  const entries = Object.entries(properties);
  return Object.fromEntries(entries.map(([name, schema]) => [name, isObject(schema) ? schema : {}]));
}

/** A resource or template: `key` and its name, title, description and media type. */
function namedEntry(entry: unknown, key: string, kind: string): Entry {
  const skipped = nameFault(entry, key, kind);
  if (skipped !== undefined || !isObject(entry)) return { faults: [skipped ?? `a ${kind} is no object`] };
  const address = String(entry[key]);
  const texts = textsOf(entry, ["title", "description", "mimeType"]);
  return { value: { [key]: address, name: textOr(entry["name"], address), ...texts }, faults: [] };
}

function promptOf(entry: unknown): Entry {
  const skipped = nameFault(entry, "name", "prompt");
  if (skipped !== undefined || !isObject(entry)) return { faults: [skipped ?? "a prompt is no object"] };
  const { name, arguments: list } = entry;
  const named = (Array.isArray(list) ? list : []).filter(
    (one): one is Fields => isObject(one) && typeof one["name"] === "string",
  );
  const args = named.map((one) => ({
    name: one["name"],
    ...textsOf(one, ["title", "description"]),
    ...(one["required"] === true ? { required: true } : {}),
  }));
  return { value: { name, ...textsOf(entry, ["title", "description"]), arguments: args }, faults: [] };
}

/** Why an entry without a usable name is skipped. */
function nameFault(entry: unknown, key: string, kind: string): string | undefined {
  if (!isObject(entry)) return `a ${kind} is ${kindOf(entry)} instead of an object and is skipped`;
  const name = entry[key];
  if (typeof name === "string" && name !== "") return undefined;
  const what = name === undefined ? "missing" : name === "" ? "empty" : kindOf(name);
  return `a ${kind} whose ${key} is ${what} is skipped`;
}

/** A tool result whose content the SDK accepts; unknown blocks become a note for the model. */
function callResult({ content, isError, structuredContent, ...rest }: Fields): Fields {
  return {
    ...rest,
    content: blocksOf(content, rest["toolResult"]).map(blockOf),
    ...(isError === undefined || isError === null ? {} : { isError: isError === true || isError === "true" }),
    ...structured(structuredContent),
  };
}

/** Versions before 2026-07-28 allow objects only. */
function structured(value: unknown): Fields {
  if (value === undefined || value === null) return {};
  return { structuredContent: isObject(value) ? value : { result: value } };
}

/** `toolResult` is of the protocol's first version. */
function blocksOf(content: unknown, toolResult: unknown): readonly unknown[] {
  if (Array.isArray(content)) return content;
  if (content !== undefined && content !== null) return [content];
  return toolResult === undefined ? [] : [JSON.stringify(toolResult)];
}

function blockOf(block: unknown): Fields {
  if (typeof block === "string") return text(block);
  if (!isObject(block)) return text(JSON.stringify(block));
  const { type, uri, resource, mimeType } = block;
  if (type === "text" && typeof block["text"] === "string") return text(block["text"]);
  if ((type === "image" || type === "audio") && typeof block["data"] === "string") {
    const kind = textOr(mimeType, "application/octet-stream");
    return { type, data: base64(block["data"]), mimeType: kind };
  }
  if (type === "resource_link" && typeof uri === "string") {
    const texts = textsOf(block, ["title", "description", "mimeType"]);
    return { type, uri, name: textOr(block["name"], uri), ...texts };
  }
  if (type === "resource" && isObject(resource)) return resourceBlock(resource);
  return unknownBlock(type);
}

function resourceBlock(resource: Fields): Fields {
  const { text: content, blob } = resource;
  const common = { uri: textOr(resource["uri"], ""), ...textsOf(resource, ["mimeType"]) };
  if (typeof content === "string") return { type: "resource", resource: { ...common, text: content } };
  if (typeof blob !== "string") return unknownBlock("resource");
  return { type: "resource", resource: { ...common, blob: base64(blob) } };
}

function unknownBlock(type: unknown): Fields {
  const kind = typeof type === "string" && type !== "" ? shown(type) : "unknown type";
  return text(`[Content of ${kind}, which cannot be shown]`);
}

function text(value: string): Fields {
  return { type: "text", text: value };
}

/** Standard base64 without line breaks; some servers send the URL alphabet or wrapped lines. */
function base64(data: string): string {
  return /^[A-Za-z0-9+/]*={0,2}$/.test(data) && data.length % 4 === 0
    ? data
    : Buffer.from(data, "base64").toString("base64");
}

function textsOf(entry: Fields, keys: readonly string[]): Fields {
  return Object.fromEntries(
    keys.flatMap((key) => (typeof entry[key] === "string" ? [[key, entry[key]] as const] : [])),
  );
}

function textOr(value: unknown, other: string): string {
  return typeof value === "string" && value !== "" ? value : other;
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

function kindOf(value: unknown): string {
  if (value === undefined) return "missing";
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : `of type ${typeof value}`;
}

/** Characters of a name in a log line. */
const SHOWN_CHARS_MAX = 100;

function shown(name: unknown): string {
  return JSON.stringify(String(name).slice(0, SHOWN_CHARS_MAX));
}
