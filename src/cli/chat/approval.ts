// Asks a person whether a tool may act.

import type { AgentEvent, Decision } from "../../core/agent.ts";
import { firstLines, type Paint, revealed } from "./style.ts";

export type ApprovalRequired = Extract<AgentEvent, { readonly type: "approval_required" }>;

/** Asks a question and gives the line that was typed; undefined when nobody answers any more. */
export type AskLine = (question: string) => Promise<string | undefined>;

const QUESTION = "Allow it? [y]es / [n]o / [a]lways in this conversation: ";
/** Lines that are shown of what is to be done; all of it is asked for, so it is more than elsewhere. */
const LINES_MAX = 200;

/** Shows the action and asks until there is an answer. Nothing, or no answer at all, means no. */
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

/** On one line: what follows it looks like the action otherwise. */
function revealedLine(text: string): string {
  return revealed(text).replaceAll(/[\n\t]/g, " ");
}

/** Code and commands as they are; anything else as JSON. */
function actionText(given: unknown): string {
  if (typeof given === "string") return given;
  if (typeof given === "object" && given !== null) {
    if ("code" in given && typeof given.code === "string") return given.code;
    if ("commands" in given && Array.isArray(given.commands)) return given.commands.join("\n");
  }
  return JSON.stringify(given, null, 2) ?? "";
}
