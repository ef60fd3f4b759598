// Reports on the load of a model, for the requests that wait for it and want them.

import { EventQueue } from "../core/queue.ts";
import type { LoadProgress } from "../core/run.ts";

export class LoadReports {
  private readonly queues = new Set<EventQueue<LoadProgress>>();

  /** Parts per thousand that are loaded. */
  report(permille: number): void {
    for (const queue of this.queues) queue.push({ type: "load_progress", permille });
  }

  /** Yields the reports until `loading` settles, and returns what it resolves to. `abandon` gets that if the reader stops early. */
  async *during<T>(loading: Promise<T>, abandon: (loaded: T) => void): AsyncGenerator<LoadProgress, T> {
    const queue = new EventQueue<LoadProgress>();
    this.queues.add(queue);
    const ended = loading.finally(() => queue.close());
    let isTaken = false;
    try {
      yield { type: "load_progress", permille: 0 };
      yield* queue;
      const loaded = await ended;
      isTaken = true;
      return loaded;
    } finally {
      this.queues.delete(queue);
      if (!isTaken) ended.then(abandon, () => {});
    }
  }
}
