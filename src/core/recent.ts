// LRU cache.

/** Up to `max` values by key; the least recently used one goes first. */
export class Recent<Value, Key = string> {
  private readonly values = new Map<Key, Value>(); // the latest last
  private readonly max: number;

  constructor(max: number) {
    this.max = max;
  }

  /** The value of a key; made, and kept, if it is missing. */
  get(key: Key, make: () => Value): Value {
    const value = this.values.get(key) ?? make();
    this.set(key, value);
    return value;
  }

  /** The value of a key, which counts as used; undefined if it is missing. */
  find(key: Key): Value | undefined {
    const value = this.values.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }

  delete(key: Key): void {
    this.values.delete(key);
  }

  set(key: Key, value: Value): void {
    this.values.delete(key);
    this.values.set(key, value);
    const oldest = this.values.keys().next();
    if (this.values.size > this.max && oldest.done !== true) this.values.delete(oldest.value);
  }
}
