// Text and pages of documents, read in reader processes.

import type { Converters, DocumentText, NamedFile } from "../core/converters.ts";
import { textIn } from "../reader/documents/decoded-text.ts";
import { DOCUMENT_PROBLEMS, documentKind, type Kind } from "../reader/documents/reading.ts";
import type { RunReader } from "../reader/process.ts";
import { replyOf } from "./converting.ts";

/** What has a reader die is mostly what takes it long. */
const PROBLEMS = { ...DOCUMENT_PROBLEMS, died: DOCUMENT_PROBLEMS.tooSlow };

export function documentReader(run: RunReader): Pick<Converters, "document" | "pages"> {
  return {
    document: async (file, signal) => {
      const kind = kindOf(file);
      if (kind === undefined) return file.isText ? undefined : otherText(file);
      const data = (await file.bytes())?.toBase64();
      if (data === undefined) return undefined; // it expired meanwhile
      const reply = await replyOf(run, "document", { kind, data }, signal);
      return "problem" in reply ? { problem: PROBLEMS[reply.problem] } : reply;
    },
    pages: async (file, pagesMax, signal) => {
      const data = kindOf(file) === "pdf" ? (await file.bytes())?.toBase64() : undefined;
      if (data === undefined) return undefined;
      const reply = await replyOf(run, "pages", { data, pagesMax }, signal);
      if ("problem" in reply) {
        const isSlow = reply.problem === "tooSlow" || reply.problem === "died";
        return { problem: isSlow ? "they take too long to paint" : "they are damaged" };
      }
      return {
        total: reply.total,
        frames: reply.frames.map(({ png }) => ({ bytes: Uint8Array.fromBase64(png) })),
      };
    },
  };
}

/** Text of another encoding than UTF-8. */
async function otherText({ bytes }: NamedFile): Promise<DocumentText | undefined> {
  const content = await bytes();
  const text = content === undefined ? undefined : textIn(content);
  return text === undefined ? undefined : { text };
}

/** HTML is text. */
function kindOf({ name, mimeType }: NamedFile): Exclude<Kind, "html"> | undefined {
  const kind = documentKind(name, mimeType);
  return kind === "html" ? undefined : kind;
}
