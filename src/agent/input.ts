// The conversation as the model gets it: files stored and told of, the server's own words at the head.

import type { InputMessage } from "../core/agent.ts";
import type { StoredFile } from "../core/files.ts";
import type { Message } from "../core/message.ts";
import { mountedNames } from "../exec/names.ts";
import type { InputFile } from "../exec/types.ts";
import { filesText, type InputFilesDeps, takeFiles } from "./input-files.ts";
import type { Plan } from "./plan.ts";
import { withSystemTexts } from "./system-text.ts";
import { READ_TOOL } from "./tools/files.ts";

export interface Input {
  readonly messages: readonly Message[];
  /** For working directories. */
  readonly files: readonly InputFile[];
}

/** Stores the files in messages; throws as takeFiles. `sessionId` is undefined where there is no session. */
export async function takeInput(
  deps: InputFilesDeps,
  { plan, sessionId, sent }: { plan: Plan; sessionId: string | undefined; sent: readonly InputMessage[] },
  signal: AbortSignal,
): Promise<Input> {
  const { messages, files } = await takeFiles(deps, sent, sessionId, signal);
  const bodies = files.flatMap(({ id, name }) => {
    const body = deps.files.body(id);
    return body === undefined ? [] : [{ id, name, body }];
  });
  const text = filesText(files, {
    ...(hasFolder(plan) ? { mounted: mountedAs(bodies) } : {}),
    ...(plan.tools.has(READ_TOOL) ? { readTool: READ_TOOL } : {}),
  });
  const texts = text === undefined ? plan.systemTexts : [...plan.systemTexts, text];
  return { messages: withSystemTexts(messages, texts), files: bodies };
}

function hasFolder({ tools }: Plan): boolean {
  return [...tools.values()].some(({ makesFiles }) => makesFiles === true);
}

function mountedAs(files: readonly Pick<StoredFile, "id" | "name">[]): ReadonlyMap<string, string> {
  const names = mountedNames(files.map(({ name }) => name));
  return new Map(files.map(({ id, name }, index) => [id, names[index] ?? name]));
}
