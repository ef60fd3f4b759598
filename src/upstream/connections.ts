// Limit on the connections to all upstreams together; the runtime's HTTP client has such a limit.

/** Counts connections; a pool that finds none waits until `onFree` is called. */
export class Connections {
  private readonly max: number;
  private used = 0;
  private readonly listeners: (() => void)[] = [];

  constructor(max: number) {
    this.max = max;
  }

  get isFull(): boolean {
    return this.used >= this.max;
  }

  take(): void {
    this.used++;
  }

  release(): void {
    this.used--;
    for (const listener of this.listeners) listener();
  }

  /** Calls the listener whenever a connection becomes free. */
  onFree(listener: () => void): void {
    this.listeners.push(listener);
  }
}
