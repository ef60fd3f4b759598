// The prefixes used last, as tokens in a file of the disk tier: the next engine of the model restores them before they are asked for.
// Only those of the base model: an adapter has another id after a restart.
// Page faults decide the speed of restoring (1.1 GB/s), so it is done before a sequence waits. Into free cells only.

import type { BlockKey } from "./block.ts";
import type { DiskTier } from "./disk-tier.ts";

/** Prefixes remembered. */
const COUNT_MAX = 4;
/** Shorter ones are computed quickly, tokens. */
const TOKENS_MIN = 256;

export interface RecentPrefix {
  readonly scope: string;
  readonly tokens: Int32Array;
}

export class RecentPrefixes {
  private readonly disk: DiskTier;
  private readonly key: BlockKey;
  private list: readonly RecentPrefix[] = []; // latest first

  constructor(disk: DiskTier, key: BlockKey) {
    this.disk = disk;
    this.key = key;
  }

  /** A prefix was used. It replaces those that it has most of. */
  add(prefix: RecentPrefix): void {
    if (prefix.tokens.length < TOKENS_MIN) return;
    this.list = [prefix, ...this.list.filter((old) => !isMostlyIn(old, prefix))].slice(0, COUNT_MAX);
    this.disk.write(this.key, 0, encoded(this.list), true);
  }

  /** Those of earlier engines, latest first. */
  async read(): Promise<readonly RecentPrefix[]> {
    const found = decoded((await this.disk.read(this.key, 0)) ?? new Uint8Array());
    this.list = [...this.list, ...found].slice(0, COUNT_MAX);
    return found;
  }
}

/** Whether another prefix begins with more than half of one. */
function isMostlyIn(one: RecentPrefix, other: RecentPrefix): boolean {
  if (one.scope !== other.scope) return false;
  const half = one.tokens.subarray(0, (one.tokens.length >> 1) + 1);
  return half.every((token, i) => token === other.tokens[i]);
}

/** For each prefix: the lengths of its scope and of its tokens, the characters of the scope, the tokens. */
function encoded(list: readonly RecentPrefix[]): Uint8Array {
  const parts = list.map(({ scope, tokens }) => {
    const characters = Array.from({ length: scope.length }, (_, i) => scope.charCodeAt(i));
    return Buffer.concat([
      new Uint8Array(Int32Array.of(scope.length, tokens.length, ...characters).buffer),
      new Uint8Array(tokens.buffer, tokens.byteOffset, tokens.byteLength),
    ]);
  });
  return Buffer.concat(parts);
}

/** `bytes`: of `encoded`, or none. */
function decoded(bytes: Uint8Array): readonly RecentPrefix[] {
  const numbers = new Int32Array(new Uint8Array(bytes).buffer);
  const list: RecentPrefix[] = [];
  for (let at = 0; at < numbers.length;) {
    const [scopeLength = 0, length = 0] = numbers.subarray(at, at + 2);
    const from = at + 2 + scopeLength;
    at = from + length;
    const scope = String.fromCharCode(...numbers.subarray(from - scopeLength, from));
    list.push({ scope, tokens: numbers.slice(from, at) });
  }
  return list;
}
