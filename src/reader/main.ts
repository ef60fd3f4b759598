// A reader process: does one job on what strangers wrote, and ends. It is a process of its own because that can take
// minutes and gigabytes on a page made for it; then it is killed and nothing else notices (docs/decisions/046).

import { unreachable } from "../core/assert.ts";
import { articleOf } from "./article.ts";
import { duckduckgoHits } from "./duckduckgo.ts";
import type { ReaderTask, ReaderTasks, ReadJob } from "./protocol.ts";
import { rankPassages } from "./ranking.ts";

/** Does the job on standard input and writes the reply to standard output. */
export async function readerMain(): Promise<void> {
  const job = (await Bun.stdin.json()) as ReadJob; // of our own process
  await Bun.write(Bun.stdout, JSON.stringify(reply(job)));
}

function reply(job: ReadJob): ReaderTasks[ReaderTask]["reply"] {
  switch (job.task) {
    case "article":
      return articleOf(job.html);
    case "duckduckgo":
      return duckduckgoHits(job.html);
    case "ranking":
      return rankPassages(job.query, job.hits);
    default:
      return unreachable(job);
  }
}
