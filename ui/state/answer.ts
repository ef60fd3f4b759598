// Updates an answer with stream events. Pure.

import type { ChatEvent } from "../api/chat-events.ts";
import type { Approval, AssistantMessage, CompactionPart, Figures, Part, ToolPart } from "./conversation.ts";

/** The answer after an event. `session` belongs to the conversation and is ignored here. */
export function applyEvent(waiting: AssistantMessage, event: ChatEvent): AssistantMessage {
  if (event.type === "wait") return { ...waiting, waitsFor: event.waitsFor };
  const { waitsFor: _, ...answer } = waiting;
  const { parts } = answer;
  switch (event.type) {
    case "text":
    case "reasoning":
      return { ...answer, parts: withText(parts, event.type, event.text) };
    case "call":
      return { ...answer, parts: withCall(parts, event) };
    case "tool":
      return { ...answer, parts: withTool(parts, event) };
    case "approval":
      return { ...answer, parts: withApproval(parts, event) };
    case "file":
      return { ...answer, parts: withFile(parts, event.file) };
    case "compacted":
      return { ...answer, parts: withCompactions(answer, event.compactions) };
    case "finish":
      return { ...answer, finish: event.reason };
    case "usage":
      return { ...answer, figures: figuresOf(event.usage) };
    case "error":
      return { ...answer, state: "failed", error: event.message, code: event.code };
    case "begin":
      return begun(answer);
    case "stopped":
      return { ...answer, state: "stopped" };
    case "end":
      return answer.state === "running" ? { ...answer, state: "done" } : answer;
    case "session":
      return answer;
  }
}

/** An answer before its first event. One that continues a cut answer has the parts of that one. */
function begun({ id, parent, model, base, firstTokenMs }: AssistantMessage): AssistantMessage {
  const kept = { ...(base && { base }), ...(firstTokenMs === undefined ? {} : { firstTokenMs }) };
  return { id, parent, role: "assistant", model, parts: base ?? [], state: "running", ...kept };
}

/** The answer with the decisions on approvals that are known from elsewhere: another tab, or before a reload. */
export function withDecisionsOf(answer: AssistantMessage, known: AssistantMessage): AssistantMessage {
  const decided = known.parts.flatMap((part) =>
    part.type === "tool" && part.approval !== undefined && part.approval.decision !== "pending"
      ? [part.approval]
      : [],
  );
  return decided.reduce(
    (after, { id, decision }) => (isPending(after, id) ? withDecision(after, id, decision) : after),
    answer,
  );
}

function isPending({ parts }: AssistantMessage, id: string): boolean {
  return parts.some(
    (part) => part.type === "tool" && part.approval?.id === id && part.approval.decision === "pending",
  );
}

/** The answer with the decision on an approval, by the user or by timeout. */
export function withDecision(
  answer: AssistantMessage,
  id: string,
  decision: Approval["decision"],
): AssistantMessage {
  const parts = answer.parts.map((part) =>
    part.type === "tool" && part.approval?.id === id
      ? { ...part, approval: { ...part.approval, decision } }
      : part,
  );
  return { ...answer, parts };
}

/** Expires pending approvals of an ended answer: the server no longer waits for them. */
export function expireApprovals(answer: AssistantMessage): AssistantMessage {
  const parts = answer.parts.map((part) =>
    part.type === "tool" && part.approval?.decision === "pending"
      ? { ...part, approval: { ...part.approval, decision: "expired" as const } }
      : part,
  );
  return { ...answer, parts };
}

function withText(parts: readonly Part[], type: "text" | "reasoning", text: string): Part[] {
  const last = parts.at(-1);
  if (last?.type !== type) return [...parts, { type, text }];
  return [...parts.slice(0, -1), { type, text: last.text + text }];
}

/** Each event has the compactions before it, too. */
function withCompactions(
  { parts, base = [] }: AssistantMessage,
  compactions: readonly CompactionPart[],
): Part[] {
  const known = parts.slice(base.length).filter(({ type }) => type === "compaction").length;
  return [...parts, ...compactions.slice(known)];
}

function withCall(
  parts: readonly Part[],
  { index, name = "", arguments: args }: Extract<ChatEvent, { type: "call" }>,
): Part[] {
  const at = parts.findIndex((part) => part.type === "call" && part.index === index);
  const known = parts[at];
  if (known?.type !== "call") return [...parts, { type: "call", index, name, arguments: args }];
  return parts.with(at, { ...known, name: known.name || name, arguments: known.arguments + args });
}

/** Matches results to calls. Calls have no id on the wire; within a round, calls of one tool complete in order. */
function withTool(
  parts: readonly Part[],
  { round, name, phase, data }: Extract<ChatEvent, { type: "tool" }>,
): Part[] {
  const isOpenCall = (part: Part) =>
    part.type === "tool" && part.round === round && part.name === name && part.output === undefined;
  const at = phase === "calling" ? -1 : parts.findIndex(isOpenCall);
  const open = parts[at];
  if (phase === "running") return withProgress(parts, at, data);
  if (open?.type === "tool") return parts.with(at, { ...decided(open, data), output: data });
  const call: ToolPart = { type: "tool", round, name, input: data };
  return [...parts, phase === "calling" ? call : { ...call, output: data }];
}

function withProgress(parts: readonly Part[], at: number, { message }: ToolPart["input"]): Part[] {
  const open = parts[at];
  if (open?.type !== "tool" || message === undefined) return [...parts];
  return parts.with(at, { ...open, input: { ...open.input, message } });
}

/** A call with a result was decided on, perhaps by another device. */
function decided(call: ToolPart, { status }: ToolPart["input"]): ToolPart {
  const { approval } = call;
  if (approval === undefined || approval.decision === "approve" || approval.decision === "deny") return call;
  return { ...call, approval: { ...approval, decision: status === "denied" ? "deny" : "approve" } };
}

function withApproval(
  parts: readonly Part[],
  { id, round, label, arguments: args, reach }: Extract<ChatEvent, { type: "approval" }>,
): Part[] {
  const decision = "pending" as const;
  const approval: Approval = { id, label, arguments: args, ...(reach && { reach: { ...reach } }), decision };
  const at = parts.findIndex(
    (part) =>
      part.type === "tool" &&
      part.round === round &&
      part.output === undefined &&
      part.approval === undefined,
  );
  const call = parts[at];
  if (call?.type === "tool") return parts.with(at, { ...call, approval });
  return [...parts, { type: "tool", round, name: label, input: { tool_type: "custom" }, approval }];
}

function withFile(parts: readonly Part[], file: Extract<ChatEvent, { type: "file" }>["file"]): Part[] {
  const at = parts.findLastIndex((part) => part.type === "files");
  const last = parts[at];
  if (last?.type !== "files" || parts.slice(at + 1).some(({ type }) => type !== "tool"))
    return [...parts, { type: "files", files: [file] }];
  return parts.with(at, { ...last, files: [...last.files, file] });
}

function figuresOf(usage: Extract<ChatEvent, { type: "usage" }>["usage"]): Figures {
  return {
    promptTokens: usage.prompt_tokens,
    cachedTokens: usage.prompt_tokens_details.cached_tokens,
    completionTokens: usage.completion_tokens,
    reasoningTokens: usage.completion_tokens_details.reasoning_tokens,
    speed: usage.avg_compl_tok_per_sec,
    totalSecs: usage.total_time_sec,
  };
}
