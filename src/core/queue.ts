/**
 * An unbounded-by-itself queue with one consumer, closed exactly once. The bound comes from its producer: an engine
 * emits at most the tokens it was allowed to generate. Used between the engine link and the reader of a run, where
 * a slow reader must not hold up the other runs.
 */
export class EventQueue<T> implements AsyncIterable<T> {
  private items: T[] = [];
  private closed = false;
  private wake: (() => void) | undefined;

  /** Adds an item; ignored after `close`. */
  push(item: T): void {
    if (this.closed) return;
    this.items.push(item);
    this.wake?.();
  }

  /** No more items will come; those already queued are still delivered. */
  close(): void {
    this.closed = true;
    this.wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    for (;;) {
      const batch = this.items;
      this.items = [];
      yield* batch;
      if (this.items.length > 0) continue;
      if (this.closed) return;
      await new Promise<void>((resolve) => (this.wake = resolve));
      this.wake = undefined;
    }
  }
}
