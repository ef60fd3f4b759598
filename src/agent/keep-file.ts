// Puts what tools made into the store of files.

import type { FileObject } from "../core/agent.ts";
import { ServiceError } from "../core/error.ts";
import type { Files, NewFile } from "../core/files.ts";
import type { ProducedFile } from "../exec/types.ts";

/** Where a file was made. */
export interface FilePlace {
  readonly id: string;
  readonly sessionId: string;
  readonly tool: string;
  readonly round: number;
  readonly turn: number;
}

/** Keeps a file, or the fact that it is not there; one that the store cannot take counts as not there. */
export async function keepFile(
  files: Files,
  file: ProducedFile,
  { id, sessionId, tool, round, turn }: FilePlace,
): Promise<FileObject> {
  const known: NewFile = {
    id,
    name: file.name,
    ...(file.format === "" ? {} : { format: file.format }),
    purpose: "agent_output",
    source: { tool, round, turn },
    sessionId,
  };
  if ("error" in file) return files.object(files.addFailure(known, file.error));
  try {
    // Executors read files into memory of their own, which nothing shares.
    const content = file.content as Uint8Array<ArrayBuffer>;
    return await files.object(await files.add({ ...known, mimeType: file.mimeType }, [content]));
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return files.object(files.addFailure(known, { code: error.code, message: error.message }));
  }
}
