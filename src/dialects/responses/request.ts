// Converts a Responses body to a Conversation. Pure: reads stored responses only through the StoredResponses interface.

import type { AgentRequest, Conversation, InputMessage } from "../../core/agent.ts";
import { type Compat, STRICT } from "../../core/compat.ts";
import { defined } from "../../core/defined.ts";
import { ServiceError } from "../../core/error.ts";
import type { RunRequest } from "../../core/run.ts";
import { withWholeFiles } from "../shared/compat.ts";
import { adapterOf } from "../shared/adapter.ts";
import { refuseForeignContainers, requestedFilesOf } from "../shared/agent.ts";
import { isPresent, describeValue } from "../shared/check.ts";
import {
  type RunConstraint,
  dropFormatForForcedCall,
  capByGrammar,
  constraintOf,
  formatConstraint,
  onlyConstraint,
} from "../shared/constraint.ts";
import { usualChoice } from "../shared/custom-tools.ts";
import { progressOf } from "../shared/progress.ts";
import { runKeepAlive } from "../shared/keep-alive.ts";
import { capTokens, endOf, samenessOf, samplingOf, stopOf } from "../shared/sampling.ts";
import {
  agreedThinking,
  sayingsOf,
  templateValuesOf,
  type ThinkingFields,
} from "../shared/thinking-fields.ts";
import { type QualifiedName, toolUseOf, withToolTypes } from "../shared/tools.ts";
import { echoOf } from "./echo.ts";
import { compactAtOf, withSummaryModel } from "../shared/compaction.ts";
import { bodyChecker } from "../shared/unknown-fields.ts";
import { hasTrigger, wholeCompaction } from "./compaction.ts";
import { type InputItem, knownItems, NO_ITEM, type SentItem } from "./input-items.ts";
import { messagesOf } from "./messages.ts";
import type { ResponseEcho } from "./resource.ts";
import { ResponsesCreateRequest } from "./schema.ts";
import { calledFunctions, ToolNames } from "./tool-names.ts";
import {
  type DeclaredFunction,
  declaredFunctions,
  hostedToolsOf,
  refuseForeignShells,
  refuseHostedChoice,
  withFoundTools,
  withoutForeignTools,
} from "./tools.ts";
import { refuseUnsupported } from "./unsupported.ts";

/** The conversation of a stored response, for the response that continues it. */
export interface StoredConversation {
  /** The whole conversation, its answer included, without instructions. */
  readonly messages: readonly InputMessage[];
  readonly sessionId?: string;
}

/** Read access to stored responses. */
export interface StoredResponses {
  /** Throws `response_not_found`, or `invalid_request` for one that is not finished. */
  conversation(responseId: string): StoredConversation;
  /** The item with this id in a stored response. */
  item(itemId: string): InputItem | undefined;
}

/** A parsed Responses request. */
export interface ResponsesCall extends Conversation {
  readonly stream: boolean;
  readonly background: boolean;
  readonly store: boolean;
  /** Reasoning is given as its summary too. The interface gives `reasoning.summary` no effect, so strict mode does not. */
  readonly summarizes: boolean;
  /** Model-visible names of the request's functions. */
  readonly names: ToolNames;
  /** Request fields that the resource repeats. */
  readonly echo: ResponseEcho;
  /** Input items of this request, with references resolved. */
  readonly input: readonly InputItem[];
  /** The conversation up to the answer, without instructions. */
  readonly messages: readonly InputMessage[];
}

const checkBody = bodyChecker(ResponsesCreateRequest);

/** Parses a request body; throws a ServiceError naming the field at fault and the accepted values. */
export function parseResponsesRequest(
  json: Readonly<Record<string, unknown>>,
  stored: StoredResponses,
  compat: Compat = STRICT,
): ResponsesCall {
  const body = checkedBody(json, compat);
  const store = body.store ?? true;
  const background = body.background ?? false;
  if (background && !store) {
    const message = "background: true requires store: true, because the answer is fetched later";
    throw new ServiceError("contradictory_fields", message, { param: "background" });
  }
  const hosted = hostedToolsOf(body.tools ?? [], compat);
  const functions = declaredFunctions(body.tools ?? [], compat);
  const earlierId = body.previous_response_id ?? "";
  const earlier = earlierId === "" ? undefined : stored.conversation(earlierId);
  const input = inputItems(body.input, stored, compat);
  const messages = withWholeFiles([...(earlier?.messages ?? []), ...messagesOf(input)], compat);
  const declared = [...functions.map(({ qualified }) => qualified), ...calledFunctions(messages)];
  const custom = (body.tools ?? []).flatMap((tool) => (tool.type === "custom" ? [tool.name] : []));
  const search = hosted.toolSearch?.isClients === true ? hosted.toolSearch.name : undefined;
  const names = new ToolNames(declared, new Set(custom), search);
  const run = runOf(body, functions, names, compat);
  const agent: AgentRequest = {
    ...hosted,
    ...compactAtOf(body),
    ...(hasTrigger(json["input"]) ? { edits: wholeCompaction(body) } : editsOf(body)),
    ...(isPresent(body.max_tool_calls) ? { maxToolRounds: body.max_tool_calls } : {}),
    ...(earlier?.sessionId === undefined ? {} : { sessionId: earlier.sessionId }),
    files: requestedFilesOf(body.files),
    interactive: body.stream === true && !background, // a background response may have no client connected
  };
  return {
    run: {
      ...run,
      prompt: { ...run.prompt, messages: withInstructions(names.flatten(messages), body.instructions) },
    },
    agent,
    names,
    stream: body.stream ?? false,
    background,
    store,
    summarizes: isSummaryWanted(body, compat),
    echo: echoOf(body, run),
    input,
    messages,
  };
}

/** The edit of `context_management`, which wins over `compact_at`. */
function editsOf(body: ResponsesCreateRequest): Pick<AgentRequest, "edits"> {
  const [entry] = body.context_management ?? [];
  if (entry === undefined) return {};
  const tokens = entry.compact_threshold ?? undefined;
  return withSummaryModel({ compact: defined({ tokens }) }, body);
}

function checkedBody(json: Readonly<Record<string, unknown>>, compat: Compat): ResponsesCreateRequest {
  refuseUnsupported(json, compat);
  refuseForeignContainers(json["tools"]);
  refuseForeignShells(json["tools"]);
  refuseHostedChoice(json["tool_choice"]);
  const input = knownItems(json["input"], compat);
  const choice = usualChoice(json["tool_choice"]);
  const tools = withoutForeignTools(withFoundTools(withToolTypes(json["tools"]), json["input"]), compat);
  return checkBody({ ...json, input, tools, tool_choice: choice }, compat);
}

/** The run without its messages. */
function runOf(
  body: ResponsesCreateRequest,
  functions: readonly DeclaredFunction[],
  names: ToolNames,
  compat: Compat,
): Conversation["run"] {
  const modelName = (qualified: QualifiedName) => names.flat(qualified);
  const sent = functions.map(({ tool, path, qualified }) => ({ tool, path, name: modelName(qualified) }));
  const { tools, choice } = toolUseOf(sent, body.tool_choice, modelName);
  const maxTokens = capByGrammar(maxOutputTokens(body), body);
  const logprobs = logprobsOf(body);
  const constrained = dropFormatForForcedCall(responseConstraint(body), choice);
  return {
    model: body.model ?? "default",
    prompt: {
      type: "chat",
      messages: [],
      tools,
      toolChoice: choice,
      ...(body.parallel_tool_calls === false ? { singleCall: true } : {}),
      ...templateValuesOf(body, compat),
      thinking: agreedThinking(sayingsOf(thinkingFields(body), compat)),
    },
    sampling: samplingOf(body),
    stop: stopOf(body.stop),
    ...defined({ maxTokens }),
    choices: body.n ?? 1,
    ...defined({ logprobs }),
    ...samenessOf(body),
    ...endOf(body),
    ...constrained,
    ...adapterOf(body),
    truncate: body.truncation === "auto",
    ...runKeepAlive(body),
    ...progressOf(body, body.stream === true && body.background !== true),
  };
}

function isSummaryWanted({ reasoning }: ResponsesCreateRequest, compat: Compat): boolean {
  if (compat.mode === "strict" || !isPresent(reasoning?.summary)) return false;
  compat.note("reasoning_summary");
  return true;
}

/** The fields about thinking; two of chat completions have no effect here. Spec: Responses. */
function thinkingFields(body: ResponsesCreateRequest): ThinkingFields {
  return { ...body, reasoning_effort: null, enable_thinking: null };
}

/** Instructions apply to one response and are not inherited. */
function withInstructions(
  messages: readonly InputMessage[],
  instructions: string | null | undefined,
): readonly InputMessage[] {
  if (!isPresent(instructions)) return messages;
  return [{ role: "system", content: [{ type: "text", text: instructions }] }, ...messages];
}

/** The items with references resolved. Those to items of another server are left out, unless nothing would remain. */
function inputItems(
  input: string | readonly SentItem[],
  stored: StoredResponses,
  compat: Compat,
): readonly InputItem[] {
  if (typeof input === "string") return [{ type: "message", role: "user", content: input }];
  const isAlone = input.every(({ type }) => type === "item_reference");
  return input.map((item, index) => {
    if (item.type !== "item_reference") return item;
    const found = stored.item(item.id);
    if (found !== undefined) return found;
    if (!isAlone) {
      compat.note("history_item", item.type);
      return NO_ITEM;
    }
    const param = `input[${index}].id`;
    const message = `${param} ${describeValue(item.id)} is not an item of a stored response; send the item itself`;
    throw new ServiceError("invalid_request", message, { param });
  });
}

/** The token cap under any of its names; throws `contradictory_fields` when two differ. */
function maxOutputTokens(body: ResponsesCreateRequest): number | undefined {
  const given = (["max_output_tokens", "max_tokens", "max_completion_tokens"] as const).flatMap((name) => {
    const cap = body[name];
    return isPresent(cap) ? [{ name, cap }] : [];
  });
  const [first] = given;
  if (first === undefined) return undefined;
  const other = given.find(({ cap }) => cap !== first.cap);
  if (other === undefined) return capTokens(first.cap);
  const message = `${other.name} ${other.cap} contradicts ${first.name} ${first.cap}; they are synonyms, send only one of them`;
  throw new ServiceError("contradictory_fields", message, { param: other.name });
}

/** Log probabilities, requested by any of three fields. */
function logprobsOf(body: ResponsesCreateRequest): RunRequest["logprobs"] {
  const top = body.top_logprobs ?? 0;
  if (body.logprobs === false && top > 0) {
    const message = "top_logprobs contradicts logprobs false; omit one of them";
    throw new ServiceError("contradictory_fields", message, { param: "top_logprobs" });
  }
  const isRequested =
    body.logprobs === true || top > 0 || body.include?.includes("message.output_text.logprobs");
  return isRequested === true ? { top } : undefined;
}

/** The constraint of `text.format`, `response_format` or `grammar`; throws `contradictory_fields` for two of them. */
function responseConstraint(body: ResponsesCreateRequest): RunConstraint {
  return onlyConstraint(formatConstraint(body.text?.format, "text.format"), constraintOf(body));
}
