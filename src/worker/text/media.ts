// Encodings of media chunks: cached, in progress, and the sequences that need them. Encodings are keyed by content, so an
// image is encoded once for any number of prompts. The cache is bounded by bytes.
// Encoding is on a thread at niceness 10, one file at a time. svc calls stb_image and miniaudio itself: libmtmd trusts sizes in headers.

import { assert } from "../../core/assert.ts";
import type { EngineStats } from "../../core/telemetry.ts";
import type { RenderedPrompt } from "./backend.ts";
import type { Encoding, MediaBackend, MediaChunk, PendingEncoding } from "./media-backend.ts";

/** A sequence: an identity and its media chunks. */
export interface MediaUser {
  readonly media: readonly MediaChunk[];
}

interface Entry {
  readonly content: number;
  /** Sequences that have not computed it yet. */
  readonly users: Set<MediaUser>;
  readonly begunMs: number;
  pending: PendingEncoding | undefined;
  encoding: Encoding | undefined;
}

type MediaCounts = Pick<EngineStats, "mediaEncoded" | "mediaReused" | "mediaSecs">;

export class MediaStore {
  private readonly backend: MediaBackend;
  private readonly bytesMax: number;
  private readonly now: () => number;
  private readonly entries = new Map<number, Entry>(); // by content, least recently requested first
  private bytes = 0;
  private doneMs = 0; // when the encoder finished last
  private counts: MediaCounts = { mediaEncoded: 0, mediaReused: 0, mediaSecs: 0 };

  /** `bytesMax`: encodings kept; those in use may exceed it. `now`: monotonic milliseconds. */
  constructor(backend: MediaBackend, bytesMax: number, now: () => number) {
    this.backend = backend;
    this.bytesMax = bytesMax;
    this.now = now;
  }

  /** Encodings in progress. */
  get pending(): number {
    let count = 0;
    for (const { pending } of this.entries.values()) if (pending !== undefined) count++;
    return count;
  }

  counted(): MediaCounts {
    return this.counts;
  }

  /** Pins the encodings that a sequence needs from a token on, and starts those that are missing. `release` unpins them. */
  request(user: MediaUser, prompt: RenderedPrompt, from: number): void {
    for (const chunk of user.media) {
      if (chunk.at < from) continue;
      const entry = this.entries.get(chunk.content) ?? this.begin(prompt, chunk);
      if (entry.users.has(user)) continue;
      if (entry.encoding !== undefined)
        this.counts = { ...this.counts, mediaReused: this.counts.mediaReused + 1 };
      entry.users.add(user);
      this.entries.delete(chunk.content);
      this.entries.set(chunk.content, entry);
    }
  }

  /** Whether all encodings that a sequence needs from a token on are pinned for it and ready. */
  has(user: MediaUser, from: number): boolean {
    return user.media.every(({ at, content }) => at < from || this.held(user, content) !== undefined);
  }

  /** An encoding that is pinned for a sequence. */
  encoding(user: MediaUser, { content }: MediaChunk): Encoding {
    const encoding = this.held(user, content);
    assert(encoding !== undefined, "a sequence runs when its media are encoded");
    return encoding;
  }

  /** Unpins a sequence's encodings before a token, by default all. Encodings in progress without another user are cancelled. */
  release(user: MediaUser, before = Number.MAX_SAFE_INTEGER): void {
    const needed = user.media.filter(({ at, tokens }) => at + tokens > before); // two chunks may have the same content
    for (const { content } of user.media) {
      const entry = this.entries.get(content);
      if (needed.some((chunk) => chunk.content === content)) continue;
      if (entry === undefined || !entry.users.delete(user)) continue;
      if (entry.pending === undefined || entry.users.size > 0) continue;
      entry.pending.free();
      this.entries.delete(content);
    }
    this.shrink();
  }

  /** Takes finished encodings, waiting up to `waitMs` for the first. Returns the sequences whose encoding failed. */
  poll(waitMs: number): readonly MediaUser[] {
    const failed: MediaUser[] = [];
    let wait = waitMs;
    for (const entry of this.entries.values()) {
      if (entry.pending === undefined) continue;
      try {
        this.take(entry, wait);
      } catch (error) {
        console.error("engine:", error);
        this.entries.delete(entry.content);
        failed.push(...entry.users);
      }
      wait = 0;
    }
    return failed;
  }

  /** Frees all encodings; none may be pinned. */
  clear(): void {
    for (const { encoding, pending } of this.entries.values()) {
      encoding?.free();
      pending?.free();
    }
    this.entries.clear();
    this.bytes = 0;
  }

  private held(user: MediaUser, content: number): Encoding | undefined {
    const entry = this.entries.get(content);
    return entry?.users.has(user) === true ? entry.encoding : undefined;
  }

  private begin(prompt: RenderedPrompt, chunk: MediaChunk): Entry {
    const pending = this.backend.encode(prompt, chunk);
    const { content } = chunk;
    return { content, users: new Set(), begunMs: this.now(), pending, encoding: undefined };
  }

  private take(entry: Entry, waitMs: number): void {
    const encoding = entry.pending?.take(waitMs);
    if (encoding === undefined) return;
    const nowMs = this.now();
    const { mediaEncoded, mediaSecs } = this.counts;
    const ms = nowMs - Math.max(entry.begunMs, this.doneMs); // it may have queued behind the previous one
    this.counts = { ...this.counts, mediaEncoded: mediaEncoded + 1, mediaSecs: mediaSecs + ms / 1000 };
    this.doneMs = nowMs;
    entry.pending = undefined;
    entry.encoding = encoding;
    this.bytes += encoding.bytes;
    this.shrink();
  }

  /** Evicts unpinned encodings, least recently requested first, until the rest fits. */
  private shrink(): void {
    for (const { content, users, encoding } of this.entries.values()) {
      if (this.bytes <= this.bytesMax) return;
      if (users.size > 0 || encoding === undefined) continue;
      this.bytes -= encoding.bytes;
      encoding.free();
      this.entries.delete(content);
    }
  }
}
