// Collects the images and audio clips of one conversation for its prompt.

import { ptr } from "bun:ffi";
import { hash, randomUUID } from "node:crypto";
import type { MediaPart } from "../../src/core/message.ts";

interface MediaFile {
  /** Equal for equal content of the same kind. */
  readonly key: string;
  readonly audio: boolean;
  readonly bytes: Uint8Array;
}

/** Collects files in the order of the messages, and returns their placeholders. */
export class MediaFiles {
  readonly files: MediaFile[] = [];
  /** Unpredictable, so no text of a conversation can imitate a file. Letters only: no template changes it. */
  private readonly marker = `media${randomUUID().replaceAll("-", "")}`;

  /** The placeholder of a file in the text. */
  place({ type, data }: MediaPart): string {
    const bytes = Buffer.from(data, "base64");
    const key = `${type} ${hash("sha256", bytes)}`;
    this.files.push({ key, audio: type === "audio", bytes });
    return `${this.marker}x${this.files.length - 1}x`;
  }

  /** The files of a request to svc_render_media_begin, after all have been placed. */
  described(): Record<string, unknown> {
    return { marker: this.marker, media: this.files.map(({ key, audio }) => ({ key, audio })) };
  }

  /** Addresses and lengths of the files' bytes, valid while this object lives. */
  columns(): { readonly data: BigUint64Array; readonly size: BigInt64Array } {
    const address = (bytes: Uint8Array): bigint => (bytes.length === 0 ? 0n : BigInt(ptr(bytes)));
    return {
      data: BigUint64Array.from(this.files, ({ bytes }) => address(bytes)),
      size: BigInt64Array.from(this.files, ({ bytes }) => BigInt(bytes.length)),
    };
  }
}
