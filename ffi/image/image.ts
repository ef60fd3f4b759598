// ImageBackend over stable-diffusion.cpp. Owns its native handles.
// It computes with llama.cpp's ggml and back ends. A failed assertion on its thread becomes an exception, after which the process is replaced.

import { assert } from "../../src/core/assert.ts";
import { defined } from "../../src/core/defined.ts";
import { ServiceError } from "../../src/core/error.ts";
import { DECODED_PIXEL_BYTES } from "../../src/core/image-memory.ts";
import type { ImageFiles, ImageOptions, MediaInfo } from "../../src/engine/protocol.ts";
import type { ImageBackend, ImageGeneration, ImageSpec, Pixels } from "../../src/worker/image/backend.ts";
import type { ImageNative } from "../library.ts";
import { interleaveMemory } from "../linux/interleaving.ts";
import { defaultThreads } from "../linux/usable-cores.ts";
import { cText, type Handle, nativeText } from "../text.ts";
import type { ImagePlan } from "./place.ts";

/** Interval at which the progress of loading is polled, milliseconds. */
const LOAD_POLL_MS = 20;
const LOADED = 1001;

const STATES = ["running", "done", "cancelled"] as const;
const CHANNELS = 3;
/** Pixels of the largest image that is decoded in one piece: more would take more memory than the model. */
const PIECE_PIXELS_MAX = 1024 * 1024;

/** How a model is loaded. */
export interface DiffusionLoad extends Pick<ImageOptions, "threads"> {
  readonly files: ImageFiles;
  readonly plan: ImagePlan;
  /** Of the weights, bytes. */
  readonly sizeBytes: number;
}

export class DiffusionBackend implements ImageBackend {
  readonly info: MediaInfo;
  readonly family: string;
  private readonly native: ImageNative;
  private readonly model: Handle;

  private readonly plan: ImagePlan;

  private constructor(
    native: ImageNative,
    model: Handle,
    { plan, sizeBytes }: DiffusionLoad,
    threads: number,
  ) {
    this.native = native;
    this.model = model;
    this.plan = plan;
    this.family = nativeText(native.svc_image_model_family(model));
    this.info = {
      kind: "image",
      description: this.family,
      architecture: this.family,
      sizeBytes,
      threads,
      ...defined({ placement: plan.placement }),
    };
  }

  /** Loads the model. Throws ServiceError(model_unavailable) with the reason. */
  static async load(
    native: ImageNative,
    input: DiffusionLoad,
    onProgress: (permille: number) => void,
  ): Promise<DiffusionBackend> {
    interleaveMemory();
    const { files, plan, threads = defaultThreads() } = input;
    const { model, diffusionModel, vae, clipL, clipG, t5xxl, llm } = files;
    const paths = [model, diffusionModel, vae, clipL, clipG, t5xxl, llm].map((path) =>
      path === undefined ? null : cText(path),
    );
    const [whole = null, diffusion = null, ...parts] = paths;
    const [a = null, b = null, c = null, d = null, e = null] = parts;
    const device = plan.device === undefined ? null : cText(plan.device);
    const budget = BigInt(Math.floor(plan.budget ?? 0));
    const load = native.svc_image_load_begin(whole, diffusion, a, b, c, d, e, threads, device, budget);
    if (load === null) throw unloadable(native);
    for (;;) {
      const state = native.svc_image_load_state(load);
      if (state < 0 || state === LOADED) break;
      onProgress(Math.min(999, state));
      await Bun.sleep(LOAD_POLL_MS);
    }
    const handle = native.svc_image_load_finish(load);
    if (handle === null) throw unloadable(native);
    return new DiffusionBackend(native, handle, input, threads);
  }

  get isOnDevice(): boolean {
    return this.plan.device !== undefined;
  }

  get isBroken(): boolean {
    return this.native.svc_image_is_broken() !== 0;
  }

  generate({ prompt, width, height, steps, guidance, seed }: ImageSpec): ImageGeneration {
    const { native, model } = this;
    const pixels = width * height;
    const inTiles = pixels > PIECE_PIXELS_MAX || pixels * DECODED_PIXEL_BYTES > this.plan.room;
    const params = Int32Array.of(width, height, steps, inTiles ? 1 : 0);
    const handle = native.svc_image_job_begin(
      model,
      cText(prompt),
      params,
      params.length,
      guidance,
      BigInt(seed),
    );
    if (handle === null) throw new Error(nativeText(native.svc_image_last_error()));
    return new NativeGeneration(native, handle);
  }

  free(): void {
    this.native.svc_image_model_free(this.model);
  }
}

class NativeGeneration implements ImageGeneration {
  private readonly native: ImageNative;
  private readonly handle: Handle;

  constructor(native: ImageNative, handle: Handle) {
    this.native = native;
    this.handle = handle;
  }

  get state(): ImageGeneration["state"] {
    return STATES[this.native.svc_image_job_state(this.handle)] ?? "failed";
  }

  get steps(): number {
    return this.native.svc_image_job_progress(this.handle);
  }

  cancel(): void {
    this.native.svc_image_job_cancel(this.handle);
  }

  pixels(): Pixels {
    const [width = 0, height = 0, channels = 0] = [0, 1, 2].map((which) =>
      this.native.svc_image_job_size(this.handle, which),
    );
    assert(channels === CHANNELS, "an image has three colour channels");
    const data = new Uint8Array(width * height * channels);
    const outcome = this.native.svc_image_job_pixels(this.handle, data, data.length);
    assert(outcome === 0, nativeText(this.native.svc_image_last_error()));
    return { width, height, data };
  }

  get failure(): string {
    return nativeText(this.native.svc_image_job_error(this.handle));
  }

  free(): void {
    this.native.svc_image_job_free(this.handle);
  }
}

function unloadable(native: ImageNative): ServiceError {
  return new ServiceError("model_unavailable", nativeText(native.svc_image_last_error()));
}
