// Answers conversations on a server without tools: files become text, sessions are remembered, the model speaks once,
// and there is a clear word on what is not there.

import type { AgentRequest, AnswerEvent, Conversation, Converse } from "../core/agent.ts";
import { ServiceError } from "../core/error.ts";
import type { Generate } from "../core/run.ts";
import type { Sessions } from "../core/sessions.ts";
import { filesText, type InputFilesDeps, takeFiles } from "./input-files.ts";
import { inSession } from "./session-stage.ts";
import { withSystemTexts } from "./system-text.ts";

export interface PlainDeps extends InputFilesDeps {
  readonly generate: Generate;
  readonly sessions: Pick<Sessions, "open">;
}

/** A Converse that only generates. Its first `next` rejects with `capability_disabled` for what needs more. */
export function plainConverse(deps: PlainDeps): Converse {
  return (conversation, signal) => converse(deps, conversation, signal);
}

async function* converse(
  deps: PlainDeps,
  { run, agent }: Conversation,
  signal: AbortSignal,
): AsyncGenerator<AnswerEvent> {
  refuseAgent(agent);
  refuseChoices(agent, run.choices);
  const sent = run.prompt.messages;
  const session = agent.sessionId === undefined ? undefined : deps.sessions.open(agent.sessionId, sent);
  const { messages, files } = await takeFiles(deps, session?.messages ?? sent, session?.id, signal);
  const text = filesText(files);
  const told = withSystemTexts(messages, text === undefined ? [] : [text]);
  const events = deps.generate({ ...run, prompt: { ...run.prompt, messages: told } }, signal);
  yield* session === undefined ? events : inSession(session, events);
}

function refuseAgent(agent: AgentRequest): void {
  if (agent.python) throw disabled("code execution", "tools");
  if (agent.shell !== undefined) throw disabled("shell execution", "tools");
  if (agent.webSearch !== undefined) throw disabled("web search", "web_search_options");
  if (agent.files.length > 0) throw disabled("making files", "files");
}

/** A conversation goes on from one answer. */
function refuseChoices({ sessionId }: AgentRequest, choices: number): void {
  if (sessionId === undefined || choices === 1) return;
  const message = `n must be 1 together with session_id; got ${choices}`;
  throw new ServiceError("contradictory_fields", message, { param: "n" });
}

function disabled(what: string, param: string): ServiceError {
  return new ServiceError("capability_disabled", `${param}: ${what} is not enabled on this server`, {
    param,
  });
}
