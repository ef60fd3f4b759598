// The worker that reads documents: one task, one reply.

import { type ReadTask, readTask } from "../../src/reader/documents/text.ts";

globalThis.addEventListener("message", ({ data }: MessageEvent<ReadTask>) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- from a worker, which has none
  globalThis.postMessage(readTask(data));
});
