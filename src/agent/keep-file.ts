// Saves files of tools in the file store, and finds those of earlier calls.

import type { FileObject, SourceMeta } from "../core/agent.ts";
import { defined } from "../core/defined.ts";
import { ServiceError } from "../core/error.ts";
import type { Files, NewFile } from "../core/files.ts";
import type { InputFile, ProducedFile } from "../exec/types.ts";
import { EARLIER_FILES_MAX } from "./limits.ts";

/** Origin of a file. */
export interface FilePlace extends SourceMeta {
  readonly id: string;
  readonly sessionId: string;
}

/** Stores a file, or a failure record if the tool did not produce it or the store rejects it. */
export async function keepFile(
  files: Files,
  file: ProducedFile,
  { id, sessionId, tool, round, turn }: FilePlace,
): Promise<FileObject> {
  const known = {
    id,
    name: file.name,
    ...(file.format === "" ? {} : { format: file.format }),
    purpose: "agent_output",
    source: { tool, round, turn },
    sessionId,
  } satisfies NewFile;
  if ("error" in file) return failed(files, known, file.error);
  try {
    // Executors allocate the buffer themselves, so it is never a SharedArrayBuffer.
    const content = file.content as Uint8Array<ArrayBuffer>;
    return await files.object(await files.add({ ...known, mimeType: file.mimeType }, [content]));
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return failed(files, known, { code: error.code, message: error.message });
  }
}

/** A failure record; only in the answer where the store cannot keep it either, such as on a full disk. */
async function failed(
  files: Files,
  file: NewFile & { readonly id: string },
  failure: { readonly code: string; readonly message: string },
): Promise<FileObject> {
  try {
    return await files.object(files.addFailure(file, failure));
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const { id, name, format, purpose, source } = file;
    const createdAt = Math.floor(Date.now() / 1000);
    return { id, name, ...defined({ format }), bytes: 0, created_at: createdAt, purpose, source, ...failure };
  }
}

/** Files of a session that tools produced: of each name the newest whose content is still there, the newest names only. */
export function earlierFiles(
  files: Files,
  sessionId: string,
  tools: readonly string[],
): readonly InputFile[] {
  const newest = new Map<string, InputFile>();
  for (const { id, name, purpose, source } of files.list(sessionId)) {
    const body = purpose === "agent_output" && tools.includes(source.tool) ? files.body(id) : undefined;
    if (body === undefined) continue;
    newest.delete(name); // re-added as the youngest
    newest.set(name, { id, name, body });
  }
  return [...newest.values()].slice(-EARLIER_FILES_MAX);
}
