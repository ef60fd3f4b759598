// ImageBackend over stable-diffusion.cpp. Owns its native handles.
// It computes with llama.cpp's ggml and back ends. A failed assertion on its thread becomes an exception, after which the process is replaced.

import { assert } from "../../src/core/assert.ts";
import { defined } from "../../src/core/defined.ts";
import { ServiceError } from "../../src/core/error.ts";
import { freeMemory } from "../../src/core/free-memory.ts";
import type { ImageFiles, ImageOptions, MediaInfo } from "../../src/engine/protocol.ts";
import type { ImageBackend, ImageGeneration, ImageSpec, Pixels } from "../../src/worker/image/backend.ts";
import type { ImageNative } from "../library.ts";
import { interleaveMemory } from "../linux/interleaving.ts";
import { defaultThreads } from "../linux/usable-cores.ts";
import { cText, type Handle, nativeText } from "../text.ts";
import type { ImagePlan } from "./place.ts";
import { decodesInTiles, type ImageRoom, type ImageSize } from "./room.ts";

/** Interval at which the progress of loading is polled, milliseconds. */
const LOAD_POLL_MS = 20;
const LOADED = 1001;

const STATES = ["running", "done", "cancelled"] as const;
const CHANNELS = 3;
/** Sizes whose buffers are remembered. */
const MEASURED_MAX = 64;
/** Interval at which the end of a measurement is polled, milliseconds; it takes a few. */
const MEASURE_POLL_MS = 1;

/** How a model is loaded. */
export interface DiffusionLoad extends Pick<ImageOptions, "threads"> {
  readonly files: ImageFiles;
  readonly plan: ImagePlan;
  /** Of the weights, bytes. */
  readonly sizeBytes: number;
  /** What models may take of the plan's device now, bytes. */
  readonly usable?: () => number;
}

/** What is measured of an image. */
interface Measured extends ImageSize {
  readonly prompt: string;
  readonly guidance: number;
}

export class DiffusionBackend implements ImageBackend {
  info: MediaInfo;
  readonly family: string;
  private readonly native: ImageNative;
  private readonly model: Handle;

  private plan: ImagePlan;
  private readonly usable: DiffusionLoad["usable"];
  private readonly measured = new Map<string, number>();
  private hasDrawn = false; // so the weights are read

  private constructor(
    native: ImageNative,
    model: Handle,
    { plan, sizeBytes, usable }: DiffusionLoad,
    threads: number,
  ) {
    this.native = native;
    this.model = model;
    this.plan = plan;
    this.usable = usable;
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

  /** The same model by a plan for the same device, which was made when more was known. */
  placed(plan: ImagePlan): this {
    this.plan = plan;
    this.info = { ...this.info, ...defined({ placement: plan.placement }) };
    return this;
  }

  get isOnDevice(): boolean {
    return this.plan.device !== undefined;
  }

  get isBroken(): boolean {
    return this.native.svc_image_is_broken() !== 0;
  }

  decodesInTiles({ prompt, guidance, ...size }: ImageSpec): Promise<boolean> {
    return decodesInTiles(size, this.room(), (other, inTiles) =>
      this.buffers({ prompt, guidance, ...other }, inTiles),
    );
  }

  /** Bytes of the buffers of such an image: of its largest graph, which is built and not computed. */
  async buffers(image: Measured, inTiles: boolean): Promise<number> {
    const { width, height, prompt, guidance } = image;
    const key = JSON.stringify([width, height, inTiles, guidance, prompt]);
    const known = this.measured.get(key);
    if (known !== undefined) return known;
    const job = this.begin({ prompt, width, height, guidance, steps: 1, seed: 0 }, inTiles, true);
    try {
      while (job.state === "running") await Bun.sleep(MEASURE_POLL_MS);
      if (job.state !== "done") throw new Error(job.failure);
      if (this.measured.size === MEASURED_MAX) this.measured.clear();
      this.measured.set(key, job.bytes);
      return job.bytes;
    } finally {
      job.free();
    }
  }

  generate(spec: ImageSpec, inTiles: boolean): NativeGeneration {
    this.hasDrawn = true;
    return this.begin(spec, inTiles, false);
  }

  private begin(
    { prompt, width, height, steps, guidance, seed }: ImageSpec,
    inTiles: boolean,
    measures: boolean,
  ): NativeGeneration {
    const { native, model } = this;
    const params = Int32Array.of(width, height, steps, inTiles ? 1 : 0, measures ? 1 : 0);
    const text = cText(prompt);
    const handle = native.svc_image_job_begin(model, text, params, params.length, guidance, BigInt(seed));
    if (handle === null) throw new Error(nativeText(native.svc_image_last_error()));
    return new NativeGeneration(native, handle);
  }

  /** What is left for buffers now; other models may have come since the load. */
  private room(): ImageRoom {
    const { plan, usable, info, hasDrawn } = this;
    const { device } = plan;
    if (device === undefined) return { bytes: freeMemory(), of: "main memory", divides: false };
    const weights = hasDrawn || plan.budget !== undefined ? 0 : (info.sizeBytes ?? 0);
    const now = usable === undefined ? Infinity : usable() - weights;
    return { bytes: Math.min(plan.room, now), of: device, divides: plan.budget !== undefined };
  }

  free(): void {
    this.native.svc_image_model_free(this.model);
  }
}

export class NativeGeneration implements ImageGeneration {
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

  /** Of the buffer of its largest graph. */
  get bytes(): number {
    return Number(this.native.svc_image_job_bytes(this.handle));
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
