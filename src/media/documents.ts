// Text and pages of documents, read in reader processes.

import type { Converters, DocumentText, NamedFile } from "../core/converters.ts";
import { DOCUMENT_PROBLEMS, documentKind, type Kind } from "../reader/documents/reading.ts";
import { ReaderFailure, type RunReader } from "../reader/process.ts";
import type { ReaderTask, ReaderTasks } from "../reader/protocol.ts";

export function documentReader(run: RunReader): Pick<Converters, "document" | "pages"> {
  return {
    document: async (file, signal) => {
      const kind = kindOf(file);
      if (kind === undefined) return undefined;
      const data = (await file.bytes())?.toBase64();
      if (data === undefined) return undefined; // it expired meanwhile
      const reply = await late(run, "document", { kind, data }, signal);
      if (reply === undefined) return { problem: DOCUMENT_PROBLEMS.tooSlow } satisfies DocumentText;
      return "problem" in reply ? { problem: DOCUMENT_PROBLEMS[reply.problem] } : reply;
    },
    pages: async (file, pagesMax, signal) => {
      const data = kindOf(file) === "pdf" ? (await file.bytes())?.toBase64() : undefined;
      const reply = data === undefined ? undefined : await late(run, "pages", { data, pagesMax }, signal);
      if (reply === undefined || "problem" in reply) return undefined;
      return {
        total: reply.total,
        frames: reply.frames.map(({ png }) => ({ bytes: Uint8Array.fromBase64(png) })),
      };
    },
  };
}

/** HTML is text. */
function kindOf({ name, mimeType }: NamedFile): Exclude<Kind, "html"> | undefined {
  const kind = documentKind(name, mimeType);
  return kind === "html" ? undefined : kind;
}

/** Undefined where the reader takes too long, or dies. */
async function late<T extends ReaderTask>(
  run: RunReader,
  task: T,
  given: ReaderTasks[T]["given"],
  signal: AbortSignal,
): Promise<ReaderTasks[T]["reply"] | undefined> {
  try {
    return await run(task, given, signal);
  } catch (error) {
    if (error instanceof ReaderFailure) return undefined;
    throw error;
  }
}
