// The conversation as the model gets it: files stored and told of, the server's own words at the head.

import type { InputMessage } from "../core/agent.ts";
import type { StoredFile } from "../core/files.ts";
import type { Message } from "../core/message.ts";
import { mountedNames } from "../exec/names.ts";
import type { InputFile } from "../exec/types.ts";
import { hasMedia } from "../core/input-file.ts";
import { NO_MEDIA } from "../core/media.ts";
import type { ModelTarget } from "../core/target.ts";
import { filesText, type InputFilesDeps, takeFiles } from "./input-files.ts";
import { MediaRoom, takeMedia } from "./input-media.ts";
import type { Plan } from "./plan.ts";
import { withSystemTexts } from "./system-text.ts";
import { READ_TOOL } from "./tools/files.ts";

export interface Input {
  /** What the model gets: the talk, with the server's words. */
  readonly messages: readonly Message[];
  /** What was said, as a session remembers it. */
  readonly talk: readonly Message[];
  /** Where tools can add pictures and recordings; absent where the model takes none. */
  readonly room: MediaRoom | undefined;
  /** For working directories. */
  readonly files: readonly InputFile[];
}

interface Place {
  readonly plan: Plan;
  readonly target: ModelTarget;
  /** Undefined where there is no session. */
  readonly sessionId: string | undefined;
  readonly sent: readonly InputMessage[];
}

/** Takes the media and stores the files in messages; throws as takeMedia and takeFiles. */
export async function takeInput(
  deps: InputFilesDeps,
  { plan, target, sessionId, sent }: Place,
  signal: AbortSignal,
): Promise<Input> {
  // A conversation of text alone does not wait here until the model is loaded.
  const rules = plan.acts || sent.some(hasMedia) ? (await target.loadFacts(signal)).media : NO_MEDIA;
  const room = new MediaRoom(rules);
  const seen = await takeMedia(deps, sent, { rules, room }, signal);
  const { messages, files } = await takeFiles(deps, seen, sessionId, signal);
  const bodies = files.flatMap(({ id, name }) => {
    const body = deps.files.body(id);
    return body === undefined ? [] : [{ id, name, body }];
  });
  const text = filesText(files, {
    ...(hasFolder(plan) ? { mounted: mountedAs(bodies) } : {}),
    ...(plan.tools.has(READ_TOOL) ? { readTool: READ_TOOL } : {}),
  });
  const texts = text === undefined ? plan.systemTexts : [...plan.systemTexts, text];
  return {
    messages: withSystemTexts(messages, texts),
    talk: messages,
    room: rules.modalities.length === 0 ? undefined : room,
    files: bodies,
  };
}

function hasFolder({ tools }: Plan): boolean {
  return [...tools.values()].some(({ makesFiles }) => makesFiles === true);
}

function mountedAs(files: readonly Pick<StoredFile, "id" | "name">[]): ReadonlyMap<string, string> {
  const names = mountedNames(files.map(({ name }) => name));
  return new Map(files.map(({ id, name }, index) => [id, names[index] ?? name]));
}
