// Prompts the user to approve an action of a tool.

import type { AgentEvent, Decision } from "../../core/agent.ts";
import { revealed } from "../../core/visible-text.ts";
import { firstLines, type Paint } from "./style.ts";

export type ApprovalRequired = Extract<AgentEvent, { readonly type: "approval_required" }>;

/** Prompts for a line; undefined when the input has ended. */
export type AskLine = (question: string) => Promise<string | undefined>;

const QUESTION = "Allow it? [y]es / [n]o / [a]lways in this conversation: ";
/** Maximum lines shown of an action; more than of other output, because the user approves all of it. */
const LINES_MAX = 200;

/** Shows the action and prompts for a decision. An empty line or the end of input denies it. */
export async function askApproval(
  { tool, arguments: given, sessionId }: ApprovalRequired,
  paint: Paint,
  ask: AskLine,
  show: (text: string) => void,
): Promise<Decision> {
  show(
    `${paint("warning", "●")} ${revealedLine(tool.label)} ${paint("dim", `(${revealedLine(sessionId)})`)}\n`,
  );
  for (const line of firstLines(revealed(actionText(given)), LINES_MAX)) show(`  ${line}\n`);
  for (;;) {
    const answer = (await ask(QUESTION))?.trim().toLowerCase();
    if (answer === undefined || answer === "" || answer === "n" || answer === "no")
      return { approved: false };
    if (answer === "y" || answer === "yes") return { approved: true, remember: false };
    if (answer === "a" || answer === "always") return { approved: true, remember: true };
  }
}

/** On one line, so that the rest cannot be mistaken for the action. */
function revealedLine(text: string): string {
  return revealed(text).replaceAll(/[\n\t]/g, " ");
}

/** Code and commands verbatim; other arguments as JSON. */
function actionText(given: unknown): string {
  if (typeof given === "string") return given;
  if (typeof given === "object" && given !== null) {
    if ("code" in given && typeof given.code === "string") return given.code;
    if ("commands" in given && Array.isArray(given.commands)) return given.commands.join("\n");
  }
  return JSON.stringify(given, null, 2) ?? "";
}
