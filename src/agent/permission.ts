// Whether an action may be done: the stricter of what the server and the request say, and a person's word where that is
// "ask". Spec: Approvals.

import { createHash } from "node:crypto";
import type { AgentEvent, ApprovalScope, Permission } from "../core/agent.ts";
import { unreachable } from "../core/assert.ts";
import type { OpenSession } from "../core/sessions.ts";
import type { Approvals } from "./approvals.ts";
import type { ToolAction } from "./tool.ts";

const STRICTNESS: readonly Permission[] = ["auto", "ask", "deny"];

/** The stricter of the two; a request can only tighten. */
export function strictest(server: Permission, request: Permission | undefined): Permission {
  const level = Math.max(STRICTNESS.indexOf(server), STRICTNESS.indexOf(request ?? "auto"));
  return STRICTNESS[level] ?? "deny";
}

/** An action that a model wants done. */
export interface WantedAction {
  readonly action: ToolAction;
  readonly toolName: string;
  readonly round: number;
  /** Parsed, or the text where it is no JSON. */
  readonly arguments: unknown;
}

export interface Permit {
  readonly permission: Permission;
  readonly scope: ApprovalScope;
  /** Whether somebody reads the events while the run goes on. */
  readonly interactive: boolean;
  readonly approvals: Approvals;
  readonly session: OpenSession;
}

/** What is approved together once a person has said so for the session. */
function kindOf({ toolName, arguments: args }: WantedAction, scope: ApprovalScope): string {
  switch (scope) {
    case "session":
      return "*";
    case "tool":
      return `tool ${toolName}`;
    case "action": {
      const words = JSON.stringify([toolName, args]);
      return `action ${createHash("sha256").update(words).digest("base64url")}`;
    }
    default:
      return unreachable(scope);
  }
}

/** Yields the question if there is one, and returns why the action must not be done, or undefined where it may. */
export async function* permit(
  wanted: WantedAction,
  { permission, scope, interactive, approvals, session }: Permit,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent, string | undefined> {
  const { action, round } = wanted;
  const kind = kindOf(wanted, scope);
  if (permission === "auto") return undefined;
  if (permission === "deny") return `${action.label} was denied by policy.`;
  if (session.isTrusted(kind)) return undefined;
  if (!interactive) {
    return `${action.label} was denied: it needs an approval, which can only be asked for in a streamed answer.`;
  }
  const pending = approvals.open();
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
    pending.forget(); // the event never reached anyone
  }
}
