// The latest converted files: clients send a conversation's files again with every turn.

import { createHash } from "node:crypto";

/** Names what becomes of a file within such a bound. */
export function keyOf(bytes: Uint8Array, most: number): string {
  return createHash("sha256").update(bytes).update(`${most}`).digest("base64");
}

/** Of limited bytes altogether. */
export class KeptFiles<T> {
  private readonly values = new Map<string, T>(); // the latest last
  private readonly max: number;
  private readonly bytesOf: (value: T) => number;
  private bytes = 0;

  constructor(max: number, bytesOf: (value: T) => number) {
    this.max = max;
    this.bytesOf = bytesOf;
  }

  find(key: string): T | undefined {
    const value = this.values.get(key);
    if (value !== undefined) {
      this.values.delete(key);
      this.values.set(key, value);
    }
    return value;
  }

  set(key: string, value: T): void {
    if (this.values.has(key)) return;
    this.values.set(key, value);
    this.bytes += this.bytesOf(value);
    for (const [oldest, kept] of this.values) {
      if (this.bytes <= this.max) return;
      this.values.delete(oldest);
      this.bytes -= this.bytesOf(kept);
    }
  }
}
