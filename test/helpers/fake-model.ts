// A model that does what a request asks for, in the simplest way: calls the first tool it may call, fills the first
// schema it is given, repeats what it is asked, and says what a tool told it.

import { messageText } from "../../src/core/message.ts";
import type { FinishReason, Generate, RunEvent, RunRequest } from "../../src/core/run.ts";
import { ACCEPTED, end, FINISH, logprob } from "./run-events.ts";

/** Arguments of every tool call. */
export const TOOL_ARGS = { city: "Zürich" };
/** The answer to every schema. */
export const STRUCTURED = { name: "Ada", age: 36 };

type ChatPrompt = Extract<RunRequest["prompt"], { type: "chat" }>;

/** Requests that arrived, the last one last. */
export function fakeModel(): { readonly generate: Generate; readonly requests: RunRequest[] } {
  const requests: RunRequest[] = [];
  async function* generate(request: RunRequest): AsyncGenerator<RunEvent> {
    requests.push(request);
    yield ACCEPTED;
    const { prompt } = request;
    for (let choice = 0; choice < request.choices; choice++) {
      const called = prompt.type === "chat" && mayCall(prompt);
      if (called) yield* toolCall(prompt, choice);
      else yield* said(request, choice);
      const reason: FinishReason = called ? "tool_calls" : "stop";
      yield end(reason, choice);
    }
    yield FINISH;
  }
  return { generate, requests };
}

function mayCall({ tools, toolChoice, messages }: ChatPrompt): boolean {
  return tools.length > 0 && toolChoice.type !== "none" && messages.at(-1)?.role !== "tool";
}

/** One call whose arguments come one character an event. */
function* toolCall({ tools, toolChoice }: ChatPrompt, choice: number): Generator<RunEvent> {
  const name = toolChoice.type === "named" ? toolChoice.names[0] : tools[0]?.name;
  yield { type: "reasoning", choice, text: "I need a tool." };
  yield { type: "tool_call_start", choice, index: 0, id: `call_${choice}`, name: name ?? "" };
  for (const delta of JSON.stringify(TOOL_ARGS)) yield { type: "tool_call_args", choice, index: 0, delta };
}

function* said(request: RunRequest, choice: number): Generator<RunEvent> {
  const words = answerTo(request).match(/\S+\s*|\s+/g) ?? [];
  for (const word of words) {
    const rated = request.logprobs;
    const top = rated === undefined || rated.top === 0 ? [] : ([[word, -0.25]] as const);
    const logprobs = rated === undefined ? {} : { logprobs: [logprob(word, -0.25, ...top)] };
    yield { type: "text", choice, text: word, ...logprobs };
  }
}

function answerTo({ prompt, constraint, echo }: RunRequest): string {
  if (constraint !== undefined) return JSON.stringify(STRUCTURED);
  if (prompt.type === "chat") {
    const last = prompt.messages.at(-1);
    if (last === undefined) return "";
    return last.role === "tool" ? `The tool says ${messageText(last)}` : `You said ${messageText(last)}`;
  }
  const text = plainText(prompt);
  return `${echo === true ? text : ""} and so on`;
}

/** What a prompt that is no conversation continues. */
function plainText(prompt: Exclude<RunRequest["prompt"], { type: "chat" }>): string {
  if (prompt.type === "tokens") return prompt.tokens.join(" ");
  return prompt.type === "gap" ? prompt.before : prompt.text;
}
