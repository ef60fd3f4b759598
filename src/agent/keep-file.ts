// Puts what tools made into the store of files.

import { ServiceError } from "../core/error.ts";
import type { Files, NewFile } from "../core/files.ts";
import type { KeepFile } from "./ports.ts";

/** Keeps files in the store. A file that the store cannot take becomes one that was not made, so that the answer goes on. */
export function fileKeeper(files: Files): KeepFile {
  return async (file, { id, sessionId, tool, round, turn }) => {
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
  };
}
