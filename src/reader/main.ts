// Entry point of a reader process: parses one untrusted page, document or medium and exits. A crafted page can take minutes and gigabytes; the
// process is then killed without effect on the server.
// Packages: Readability, linkedom for its document (jsdom has network and cookies; 0.18.12, since later releases need a package that was not
// available), html-to-text (`textContent` joins paragraphs), minisearch (BM25 without dependencies). Not a thread: it cannot be killed as surely.

import { unreachable } from "../core/assert.ts";
import { articleOf } from "./article.ts";
import { duckduckgoHits } from "./duckduckgo.ts";
import type { ReaderTask, ReaderTasks, ReadJob } from "./protocol.ts";
import { rankPassages } from "./ranking.ts";

/** Runs the job from stdin and writes the reply to stdout. */
export async function readerMain(): Promise<void> {
  const job = (await Bun.stdin.json()) as ReadJob; // from svc's own process
  Object.assign(console, { log: () => undefined }); // decoders talk there; standard output is for the reply
  await Bun.write(Bun.stdout, JSON.stringify(await reply(job)));
}

async function reply(job: ReadJob): Promise<ReaderTasks[ReaderTask]["reply"]> {
  switch (job.task) {
    case "article":
      return articleOf(job.html);
    case "duckduckgo":
      return duckduckgoHits(job.html);
    case "document": {
      const bytes = new Uint8Array(Buffer.from(job.data, "base64"));
      if (job.kind === "pdf") return (await import("./documents/pdf-process.ts")).readPdf(bytes);
      return (await import("./documents/text.ts")).readTask({ kind: job.kind, bytes });
    }
    case "image":
      return (await import("./media/images.ts")).readImage(job);
    case "pages":
      return (await import("./media/pages.ts")).readPages(job);
    case "sound":
      return (await import("./media/sounds.ts")).readSound(job);
    case "ranking":
      return rankPassages(job.query, job.hits);
    default:
      return unreachable(job);
  }
}
