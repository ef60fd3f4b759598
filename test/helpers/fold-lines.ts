// Puts a streamed answer of Ollama's dialect together the way its clients do, so that it can be compared with the body.

import type { OllamaChatResponse, OllamaGenerateResponse } from "../../src/dialects/ollama/answer.ts";
import type { SseEvent } from "./sse.ts";

/** The lines of a stream as frames without names. Throws when the last one is not complete. */
export function parseLines(stream: string): readonly SseEvent[] {
  if (stream !== "" && !stream.endsWith("\n"))
    throw new Error(`the stream breaks off: …${stream.slice(-80)}`);
  return stream
    .split("\n")
    .slice(0, -1)
    .map((data) => ({ event: "message", data }));
}

type Line = Partial<OllamaChatResponse & OllamaGenerateResponse>;

/** The body that the lines add up to. */
export function foldLines(stream: string): object {
  const lines = parseLines(stream).map(({ data }): Line => JSON.parse(data));
  const last = lines.at(-1);
  if (last?.done !== true) throw new Error("the stream has no end");
  const joined = (of: (line: Line) => string | undefined): string =>
    lines.map((line) => of(line) ?? "").join("");
  const logprobs = lines.flatMap((line) => line.logprobs ?? []);
  const told = logprobs.length === 0 ? {} : { logprobs };
  if (last.message === undefined) {
    return {
      ...last,
      response: joined((line) => line.response),
      ...thinkingOf(lines.map((one) => one.thinking)),
      ...told,
    };
  }
  const calls = lines.flatMap((line) => line.message?.tool_calls ?? []);
  const message = {
    role: "assistant",
    content: joined((line) => line.message?.content),
    ...thinkingOf(lines.map((line) => line.message?.thinking)),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  return { ...last, message, ...told };
}

function thinkingOf(pieces: readonly (string | undefined)[]): object {
  const told = pieces.filter((piece) => piece !== undefined);
  return told.length === 0 ? {} : { thinking: told.join("") };
}
