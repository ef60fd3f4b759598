// An open projector file: the modalities it takes, media chunks of prompts, and their encodings.

import { ServiceError } from "../../src/core/error.ts";
import { AUDIO_SECONDS_MAX, PICTURE_PIXELS_MAX, MEDIA_KINDS_MAX } from "../../src/core/limits.ts";
import type { Modality } from "../../src/core/message.ts";
import type { Encoding, MediaChunk, PendingEncoding } from "../../src/worker/text/media-backend.ts";
import type { Native } from "../library.ts";
import type { MediaFiles } from "./media-files.ts";
import { cText, type Handle, nativeText } from "../text.ts";

/** Integers per chunk from svc_render_media. */
const CHUNK_NUMBERS = 6;

/** llama.h: LLAMA_TOKEN_NULL. No placeholder has this number. */
const NO_TOKEN = -1;
const FOREIGN =
  "this model cannot take images or audio: its vocabulary lacks tokens that its projector (mmproj) needs around them, so the " +
  "projector is probably that of another model; send text only, or start the server with the projector that came with the model";

export interface MediaOptions {
  readonly threads: number;
  /** Index in svc_system_info; -1: the CPU. */
  readonly device: number;
  /** Maximum tokens of one pass. */
  readonly ubatch: number;
}

/** Columns of svc_media_open. */
export function mediaColumns({ threads, device, ubatch }: MediaOptions): Int32Array {
  return Int32Array.of(threads, device, -1, -1, PICTURE_PIXELS_MAX, AUDIO_SECONDS_MAX, ubatch);
}

/** For native calls in this folder only. */
export class LlamaEncoding implements Encoding {
  readonly handle: Handle;
  readonly bytes: number;
  private readonly native: Native;

  constructor(native: Native, handle: Handle) {
    this.native = native;
    this.handle = handle;
    this.bytes = Number(native.svc_encode_bytes(handle));
  }

  free(): void {
    this.native.svc_encode_free(this.handle);
  }
}

export class LlamaMedia {
  readonly handle: Handle;
  readonly modalities: readonly Modality[];
  private readonly native: Native;
  private readonly contents = new Map<string, number>(); // placeholder by content key, oldest first
  private lastContent = NO_TOKEN;

  private constructor(native: Native, handle: Handle) {
    this.native = native;
    this.handle = handle;
    const abilities = native.svc_media_abilities(handle);
    this.modalities = (["image", "audio"] as const).filter((_, bit) => ((abilities >> bit) & 1) === 1);
  }

  /** Throws ServiceError(model_unavailable) when the file cannot be read or does not fit the model. */
  static open(native: Native, model: Handle, path: string, options: MediaOptions): LlamaMedia {
    const params = mediaColumns(options);
    const handle = native.svc_media_open(model, cText(path), params, params.length);
    if (handle === null) {
      const reason = nativeText(native.svc_last_error());
      throw new ServiceError("model_unavailable", `the projector (mmproj) could not be loaded: ${reason}`);
    }
    return new LlamaMedia(native, handle);
  }

  /**
   * The media chunks of a rendered prompt. Writes their placeholders into its tokens. Throws ServiceError(unsupported_capability)
   * where the model lacks a token that belongs around them: libmtmd then has -1 in its place.
   */
  chunks(rendered: Handle, { files }: MediaFiles, tokens: Int32Array): readonly MediaChunk[] {
    const count = -this.native.svc_render_media(rendered, new Int32Array(1), 0);
    const numbers = new Int32Array(Math.max(1, count * CHUNK_NUMBERS));
    if (count > 0) this.native.svc_render_media(rendered, numbers, numbers.length);
    const chunks = Array.from({ length: count }, (_, index): MediaChunk => {
      const row = numbers.subarray(index * CHUNK_NUMBERS, (index + 1) * CHUNK_NUMBERS);
      const [at = 0, length = 0, positions = 0, item = 0, part = 0, whole = 0] = row;
      const content = this.content(`${files[item]?.key ?? ""} ${part} ${length}`);
      tokens.fill(content, at, at + length);
      return { index, at, tokens: length, positions, content, whole: whole === 1 };
    });
    if (tokens.includes(NO_TOKEN))
      throw new ServiceError("unsupported_capability", FOREIGN, { param: "messages" });
    return chunks;
  }

  /** Starts to encode a chunk of a prompt. */
  encode(rendered: Handle, chunk: MediaChunk): PendingEncoding {
    const handle = this.native.svc_encode_begin(rendered, chunk.index);
    if (handle === null) throw new Error(nativeText(this.native.svc_last_error()));
    const take = (waitMs: number): Encoding | undefined => {
      const state = this.native.svc_encode_wait(handle, waitMs);
      if (state === 0) return undefined;
      if (state > 0) return new LlamaEncoding(this.native, handle);
      const reason = nativeText(this.native.svc_last_error());
      this.native.svc_encode_free(handle);
      throw new Error(reason);
    };
    return { take, free: () => this.native.svc_encode_free(handle) };
  }

  /** Frees the projector. Prompts, encodings and the chat template must have been freed before. */
  close(): void {
    this.native.svc_media_free(this.handle);
  }

  /** The placeholder of a content. Never reused for another content, also after eviction. */
  private content(key: string): number {
    const known = this.contents.get(key) ?? --this.lastContent;
    this.contents.delete(key);
    this.contents.set(key, known);
    const [oldest] = this.contents.keys();
    if (this.contents.size > MEDIA_KINDS_MAX && oldest !== undefined) this.contents.delete(oldest);
    return known;
  }
}
