// Answers conversations on a server without tools, files or sessions of its own: one run, and a clear word on what is
// not there.

import type { AgentRequest, Converse, FilePart, InputMessage } from "../core/agent.ts";
import { ServiceError } from "../core/error.ts";
import type { ContentPart, Message } from "../core/message.ts";
import type { Generate } from "../core/run.ts";

/** A Converse that only generates. Throws `capability_disabled` for what needs more. */
export function plainConverse(generate: Generate): Converse {
  return ({ run, agent }, signal) => {
    refuseAgent(agent);
    const messages = run.prompt.messages.map(withoutFiles);
    return generate({ ...run, prompt: { ...run.prompt, messages } }, signal);
  };
}

function refuseAgent(agent: AgentRequest): void {
  if (agent.python) throw disabled("code execution", "tools");
  if (agent.shell !== undefined) throw disabled("shell execution", "tools");
  if (agent.webSearch !== undefined) throw disabled("web search", "web_search_options");
  if (agent.sessionId !== undefined) throw disabled("keeping sessions", "session_id");
  if (agent.files.length > 0) throw disabled("making files", "files");
}

function withoutFiles(message: InputMessage): Message {
  return { ...message, content: message.content.map(textOnly) };
}

function textOnly(part: ContentPart | FilePart): ContentPart {
  if (part.type === "file") throw disabled("reading files", part.param);
  return part;
}

function disabled(what: string, param: string): ServiceError {
  return new ServiceError("capability_disabled", `${param}: ${what} is not enabled on this server`, {
    param,
  });
}
