// Permission for an action: the stricter of server and request; "ask" waits for the user's approval. Spec: Approvals.

import { hash } from "node:crypto";
import type { AgentEvent, ApprovalScope, Permission } from "../core/agent.ts";
import { unreachable } from "../core/assert.ts";
import type { Caller } from "../core/caller.ts";
import type { OpenSession } from "../core/sessions.ts";
import type { Approvals } from "./approvals.ts";
import type { ToolAction } from "./tool.ts";

const STRICTNESS: readonly Permission[] = ["auto", "ask", "deny"];

/** The stricter of the two: a request can only tighten. */
export function strictest(server: Permission, request: Permission | undefined): Permission {
  const level = Math.max(STRICTNESS.indexOf(server), STRICTNESS.indexOf(request ?? "auto"));
  return STRICTNESS[level] ?? "deny";
}

/** An action that a model requests. */
export interface WantedAction {
  readonly action: ToolAction;
  readonly toolName: string;
  readonly round: number;
  /** Parsed, or the text if it is not JSON. */
  readonly arguments: unknown;
}

export interface Permit {
  readonly permission: Permission;
  readonly scope: ApprovalScope;
  /** Whether the client reads events during the run. */
  readonly interactive: boolean;
  readonly approvals: Approvals;
  readonly session: OpenSession;
  readonly caller: Caller;
}

/** Key under which an approval is remembered for the session. */
function kindOf({ toolName, arguments: args }: WantedAction, scope: ApprovalScope): string {
  switch (scope) {
    case "session":
      return "*";
    case "tool":
      return `tool ${toolName}`;
    case "action": {
      const text = JSON.stringify([toolName, args]);
      return `action ${hash("sha256", text, "base64url")}`;
    }
    default:
      return unreachable(scope);
  }
}

/** Yields the approval event, if needed. Returns why the action is denied; undefined if it is permitted. */
export async function* permit(
  wanted: WantedAction,
  { permission, scope, interactive, approvals, session, caller }: Permit,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent, string | undefined> {
  const { action, round } = wanted;
  const kind = kindOf(wanted, scope);
  if (permission === "auto" || action.isHarmless === true) return undefined;
  if (permission === "deny") return `${action.label} was denied by policy.`;
  if (session.isTrusted(kind)) return undefined;
  if (!interactive) {
    return `${action.label} was denied: it needs an approval, which requires a streamed answer.`;
  }
  const pending = approvals.open(caller);
  try {
    yield {
      type: "approval_required",
      approvalId: pending.id,
      sessionId: session.id,
      round,
      tool: action,
      arguments: wanted.arguments,
    };
    const decision = await pending.decision(signal);
    if (decision === undefined) return "Approval timed out.";
    if (!decision.approved) return decision.message ?? "Agent action was denied.";
    if (decision.remember) session.trust(kind);
    return undefined;
  } finally {
    pending.forget(); // no-op if decided; needed when the consumer stops before it reads the event
  }
}
