// LRU cache.

/** Values by key, of at most `max` altogether; the least recently used one goes first. */
export class Recent<Value, Key = string> {
  private readonly values = new Map<Key, Value>(); // the latest last
  private readonly max: number;
  private readonly sizeOf: (value: Value) => number;
  private size = 0;

  /** `sizeOf`: what a value counts, 1 by default. */
  constructor(max: number, sizeOf: (value: Value) => number = () => 1) {
    this.max = max;
    this.sizeOf = sizeOf;
  }

  /** The value of a key; made, and kept, if it is missing. */
  get(key: Key, make: () => Value): Value {
    const known = this.find(key);
    if (known !== undefined) return known;
    const value = make();
    this.set(key, value);
    return value;
  }

  /** The value of a key, which counts as used; undefined if it is missing. */
  find(key: Key): Value | undefined {
    const value = this.values.get(key);
    if (value === undefined) return undefined;
    this.values.delete(key);
    this.values.set(key, value);
    return value;
  }

  delete(key: Key): void {
    const value = this.values.get(key);
    if (value === undefined) return;
    this.values.delete(key);
    this.size -= this.sizeOf(value);
  }

  set(key: Key, value: Value): void {
    this.delete(key);
    this.values.set(key, value);
    this.size += this.sizeOf(value);
    for (const oldest of this.values.keys()) {
      if (this.size <= this.max) return;
      this.delete(oldest);
    }
  }
}
