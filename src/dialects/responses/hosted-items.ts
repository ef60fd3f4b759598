// What items of other servers' tools say: calls and results, which the model reads as those of any tool. Fields that are missing
// or of another form are left out: another server wrote them.

import type { InputMessage, InputPart } from "../../core/agent.ts";
import { isObject } from "../../core/json.ts";
import type { ToolCall } from "../../core/message.ts";
import { fromOpaqueText } from "../shared/compaction.ts";
import { foreignText } from "../shared/foreign.ts";
import { namedMedia, urlSource } from "../shared/media.ts";
import { readableName } from "./tool-names.ts";
import { HOSTED_ITEM_TYPES, type HostedItem, type InputItem } from "./input-items.ts";

/** A call, its result, or both. */
export interface HostedWork {
  /** The conversation that a compaction stands for. */
  readonly compacted?: readonly InputMessage[];
  readonly call?: ToolCall;
  readonly result?: {
    readonly callId: string;
    readonly content: readonly InputPart[];
    /** Tools that a search has found. */
    readonly foundTools?: readonly string[];
  };
}

/** Fields of a call that are its arguments, under the name of its tool. */
interface CallForm {
  readonly name: string;
  readonly inputs: readonly string[];
  /** Fields of the same item that are its result; absent: another item has it. */
  readonly outputs?: readonly string[];
}

const CALLS: Readonly<Partial<Record<HostedItem["type"], CallForm>>> = {
  apply_patch_call: { name: "apply_patch", inputs: ["operation"] },
  code_interpreter_call: { name: "code_interpreter", inputs: ["code"], outputs: ["outputs"] },
  computer_call: { name: "computer", inputs: ["action", "actions"] },
  file_search_call: { name: "file_search", inputs: ["queries"], outputs: ["results"] },
  image_generation_call: { name: "image_generation", inputs: ["revised_prompt"], outputs: ["result"] },
  local_shell_call: { name: "local_shell", inputs: ["action"] },
  mcp_approval_request: { name: "mcp_approval", inputs: ["server_label", "name", "arguments"] },
  tool_search_call: { name: "tool_search", inputs: ["arguments"] },
  web_search_call: { name: "web_search", inputs: ["action"], outputs: ["results"] },
};

/** Fields of items that are the result of an earlier call. */
const RESULTS: Readonly<Partial<Record<HostedItem["type"], readonly string[]>>> = {
  apply_patch_call_output: ["output", "status"],
  computer_call_output: ["output"],
  local_shell_call_output: ["output"],
  mcp_approval_response: ["approve", "reason"],
  tool_search_output: ["tools"],
};

type Result = NonNullable<HostedWork["result"]>;
type Fields = Readonly<Record<string, unknown>>;

const TYPES: ReadonlySet<string> = new Set(HOSTED_ITEM_TYPES);

/** Whether an item is of a tool that another server runs. */
export function isHosted(item: InputItem): item is HostedItem {
  return TYPES.has(item.type);
}

/** What an item says; `path` is its path in the body. */
export function hostedWork(item: HostedItem, path: string): HostedWork {
  const fields: Fields = item;
  if (item.type === "compaction" || item.type === "compaction_summary")
    return { compacted: fromOpaqueText(fields["encrypted_content"]) ?? [] };
  const results = RESULTS[item.type];
  if (results !== undefined) {
    const answered = item.call_id ?? fields["approval_request_id"] ?? item.id;
    const callId = idOf(answered, path);
    const result = resultOf(callId, fields, results, path);
    return { result: item.type === "tool_search_output" ? withFoundTools(result, fields["tools"]) : result };
  }
  const id = idOf(item.call_id ?? item.id, path);
  if (item.type === "mcp_call") return mcpWork(id, fields, path);
  const form = CALLS[item.type];
  if (form === undefined) return {};
  const given = form.inputs.filter((name) => fields[name] !== undefined && fields[name] !== null);
  const [only, ...others] = given;
  const whole = only === undefined ? {} : fields[only];
  const input =
    others.length === 0 && isObject(whole)
      ? whole
      : Object.fromEntries(given.map((name) => [name, fields[name]]));
  const call = { id, name: form.name, arguments: JSON.stringify(input) };
  return form.outputs === undefined ? { call } : { call, result: resultOf(id, fields, form.outputs, path) };
}

function mcpWork(id: string, fields: Fields, path: string): HostedWork {
  const { name, arguments: args, error } = fields;
  const json = typeof args === "string" ? args || "{}" : JSON.stringify(args ?? {});
  const call = { id, name: typeof name === "string" && name !== "" ? name : "mcp", arguments: json };
  const failed = error !== undefined && error !== null;
  return { call, result: resultOf(id, fields, [failed ? "error" : "output"], path) };
}

/** The functions that a search has found. Their definitions enter the prompt later, as those of other tools on demand. */
function withFoundTools(result: Result, tools: unknown): Result {
  const names = (Array.isArray(tools) ? tools : []).flatMap((tool: unknown): readonly string[] => {
    if (!isObject(tool) || typeof tool["name"] !== "string") return [];
    const { type, name, tools: children } = tool;
    if (type === "function") return [name];
    if (type !== "namespace" || !Array.isArray(children)) return [];
    return children.flatMap((child: unknown) =>
      isObject(child) && typeof child["name"] === "string"
        ? [readableName({ namespace: name, name: child["name"] })]
        : [],
    );
  });
  if (names.length === 0) return result;
  const text = "Found these tools; you can call them now:";
  return { ...result, content: [{ type: "text", text }], foundTools: names };
}

function idOf(id: unknown, path: string): string {
  return typeof id === "string" && id !== "" ? id : path;
}

function resultOf(callId: string, fields: Fields, names: readonly string[], path: string): Result {
  const content = names.flatMap((name) => partsOf(fields[name], `${path}.${name}`));
  const isSaid = content.some((part) => part.type !== "text" || part.text !== "");
  return { callId, content: isSaid ? content : [{ type: "text", text: "[done]" } as const] };
}

/** Base64 of an image: content of a result that is not text. */
const IMAGE_DATA = /^(?:iVBORw0KGgo|\/9j\/|R0lGOD|UklGR)[A-Za-z0-9+/=]+$/;

function partsOf(value: unknown, param: string): readonly InputPart[] {
  if (typeof value === "string" && IMAGE_DATA.test(value))
    return [namedMedia("image", { type: "inline", data: value }, param)];
  if (Array.isArray(value)) {
    const parts = value.map((one: unknown, index) => imageOf(one, `${param}[${index}]`) ?? foreignText(one));
    return parts.map((part) => (typeof part === "string" ? { type: "text", text: `${part}\n` } : part));
  }
  return [imageOf(value, param) ?? { type: "text", text: foreignText(value) }];
}

/** The image of a part with one, such as a screenshot. */
function imageOf(value: unknown, param: string): InputPart | undefined {
  if (!isObject(value)) return undefined;
  const { image_url: url, file_id: id } = value;
  if (typeof url === "string" && url !== "") return namedMedia("image", urlSource(url), param);
  const isStored = typeof id === "string" && id !== "" && value["type"] === "computer_screenshot";
  return isStored ? namedMedia("image", { type: "stored", id }, param) : undefined;
}
