// Prepares a conversation for the model: resolves media, stores files, adds the server's system texts.

import type { CutFile, InputMessage } from "../core/agent.ts";
import { defined } from "../core/defined.ts";
import type { StoredFile } from "../core/files.ts";
import type { Message } from "../core/message.ts";
import { mountedNames } from "../exec/names.ts";
import type { InputFile } from "../exec/types.ts";
import { hasFile, hasMedia } from "../core/input-file.ts";
import { NO_MEDIA } from "../core/media.ts";
import type { ModelTarget } from "../core/target.ts";
import { filesText, type InputFilesDeps, storeInputFiles } from "./input-files.ts";
import type { PaintPages } from "./input-documents.ts";
import { PAGES_MAX } from "./limits.ts";
import { MediaBudget, resolveMedia } from "./input-media.ts";
import type { Plan } from "./plan.ts";
import { withSystemTexts } from "./system-text.ts";
import { READ_TOOL } from "./tools/files.ts";

export interface Input {
  /** Messages for the model, with the server's system texts. */
  readonly messages: readonly Message[];
  /** Messages as the session stores them, without system texts of the server. */
  readonly sessionMessages: readonly Message[];
  /** Limits for images and audio of tools; absent if the model accepts no media. */
  readonly mediaBudget: MediaBudget | undefined;
  /** Files for the tools' working directories. */
  readonly files: readonly InputFile[];
  /** Attached files that the model does not have whole. */
  readonly cut: readonly CutFile[];
  /** Name of the tool that reads a stored file by id; undefined where the request lacks it. */
  readonly readTool: string | undefined;
}

interface Place {
  readonly plan: Plan;
  readonly target: ModelTarget;
  /** Undefined without a session. */
  readonly sessionId: string | undefined;
  readonly sent: readonly InputMessage[];
}

/** Resolves the media and stores the files in messages. Throws as resolveMedia and storeInputFiles. */
export async function resolveInput(
  deps: InputFilesDeps,
  { plan, target, sessionId, sent }: Place,
  signal: AbortSignal,
): Promise<Input> {
  // A text-only conversation does not wait for the model to load.
  const needsFacts = plan.acts || sent.some((message) => hasMedia(message) || hasFile(message));
  const rules = needsFacts ? (await target.loadFacts(signal, deps.caller)).media : NO_MEDIA;
  const mediaBudget = new MediaBudget(rules);
  const seen = await resolveMedia(deps, sent, { rules, mediaBudget }, signal);
  const paint = mediaBudget.takes("image") ? pagePainter(deps, mediaBudget) : undefined;
  const stored = await storeInputFiles({ ...deps, paint }, seen.messages, sessionId, signal);
  const { messages, files, whole } = stored;
  const bodies = files.flatMap(({ id, name }) => {
    const body = deps.files.body(id);
    return body === undefined ? [] : [{ id, name, body }];
  });
  const readTool = plan.tools.has(READ_TOOL) ? READ_TOOL : undefined;
  const { text, cut } = filesText(files, {
    whole,
    ...(hasFolder(plan) ? { mounted: mountedAs(bodies) } : {}),
    ...defined({ readTool }),
  });
  const texts = text === undefined ? plan.systemTexts : [...plan.systemTexts, text];
  return {
    messages: withSystemTexts(messages, texts),
    sessionMessages: messages,
    mediaBudget: rules.modalities.length === 0 ? undefined : mediaBudget,
    files: bodies,
    cut: [...seen.cut, ...stored.cut, ...cut],
    readTool,
  };
}

/** Paints as many pages as the request may have images. */
function pagePainter({ converters }: InputFilesDeps, mediaBudget: MediaBudget): PaintPages {
  return async (file, param, signal) => {
    const pagesMax = Math.min(PAGES_MAX, mediaBudget.framesLeft(0));
    const pages = await converters.pages(file, pagesMax, signal);
    if (pages === undefined || "problem" in pages) return pages;
    return {
      parts: pages.frames.map(({ bytes }) => mediaBudget.add(bytes, "image", param)),
      total: pages.total,
    };
  };
}

function hasFolder({ tools }: Plan): boolean {
  return [...tools.values()].some(({ makesFiles }) => makesFiles === true);
}

function mountedAs(files: readonly Pick<StoredFile, "id" | "name">[]): ReadonlyMap<string, string> {
  const names = mountedNames(files.map(({ name }) => name));
  return new Map(files.map(({ id, name }, index) => [id, names[index] ?? name]));
}
