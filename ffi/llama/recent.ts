// LRU cache.

/** Up to `max` values by key; the least recently used one goes first. */
export class Recent<Value> {
  private readonly values = new Map<string, Value>(); // the latest last
  private readonly max: number;

  constructor(max: number) {
    this.max = max;
  }

  /** The value of a key; made, and kept, if it is missing. */
  get(key: string, make: () => Value): Value {
    const value = this.values.get(key) ?? make();
    this.values.delete(key);
    this.values.set(key, value);
    const [oldest = ""] = this.values.keys();
    if (this.values.size > this.max) this.values.delete(oldest);
    return value;
  }
}
