// The engine process of an image model: loads it and generates images, one at a time, on a thread of the library.

import { leaveCrashesToParent } from "../../../ffi/linux/crash-signals.ts";
import { openWithBackends } from "../../../ffi/engine-native.ts";
import { deviceText, type DeviceWatch, watchDevices } from "../../../ffi/devices.ts";
import { unpackImage } from "../../../ffi/embedded.ts";
import { DiffusionBackend, type DiffusionLoad } from "../../../ffi/image/image.ts";
import { chosenCard, planImages } from "../../../ffi/image/place.ts";
import { type ImageNative, openImage } from "../../../ffi/library.ts";
import { unreachable } from "../../core/assert.ts";
import { defined } from "../../core/defined.ts";
import { filesBytes, IMAGE_BUFFER_BYTES } from "../../core/image-memory.ts";
import { freeMemory } from "../../core/free-memory.ts";
import { usableBytes } from "../../core/placement.ts";
import type { EngineHost } from "../../core/system.ts";
import type { DeviceStats } from "../../core/telemetry.ts";
import { reasonOf } from "../../core/reason.ts";
import type { ImageOptions } from "../../engine/protocol.ts";
import { familyDefaults } from "./family.ts";
import { ImageQueue } from "./queue.ts";
import { type EngineWork, newSeed, send, sendFailure, type WorkMessage } from "../shared/work.ts";

const BROKEN = {
  code: "engine_failed",
  message: "The image library failed while it generated an image. Its process is restarted.",
} as const;

/** A square, which all families can draw, of as many pixels as most images. */
const USUAL = { prompt: "", width: 1024, height: 1024, guidance: 2 };

interface Loaded {
  readonly backend: DiffusionBackend;
  readonly host: EngineHost;
  readonly devices: DeviceWatch;
}

async function load(options: ImageOptions): Promise<Loaded> {
  const { cacheDir, verbosity, files, threads } = options;
  const opened = openWithBackends(options, (failure) =>
    send({ type: "log", line: `${failure}; images are computed on the other devices` }),
  );
  const host = opened.host(); // with the memory that is free before the load
  const devices = watchDevices(opened.native);
  const sizeBytes = filesBytes(Object.values(files));
  const images = openImage(unpackImage(cacheDir), verbosity);
  const card = chosenCard(host.devices, options);
  const usable = (): number => usableOf(card?.name, devices());
  const input = { files, sizeBytes, ...defined({ threads }), ...(card && { usable }) };
  const onCard = card && { device: card.name, room: Infinity, devices: deviceText(card) };
  const tried = onCard && (await openModel(images, { ...input, plan: onCard }));
  const buffers = tried === undefined ? 0 : await usualBuffers(tried);
  const plan = planImages(host.devices, options, { weights: sizeBytes, buffers, free: freeMemory() });
  if (plan.summary !== undefined) send({ type: "placed", summary: plan.summary, devices: plan.devices });
  if (tried !== undefined && plan.device !== undefined && plan.budget === undefined)
    return { backend: tried.placed(plan), host, devices };
  tried?.free();
  return { backend: await openModel(images, { ...input, plan }), host, devices };
}

async function usualBuffers(backend: DiffusionBackend): Promise<number> {
  try {
    return await backend.buffers(USUAL, true);
  } catch (error) {
    if (backend.isBroken) throw error;
    send({ type: "log", line: `the buffers of an image could not be measured: ${reasonOf(error)}` });
    return IMAGE_BUFFER_BYTES;
  }
}

function openModel(images: ImageNative, input: DiffusionLoad): Promise<DiffusionBackend> {
  return DiffusionBackend.load(images, input, (permille) => send({ type: "loading", permille }));
}

function usableOf(name: string | undefined, devices: readonly DeviceStats[]): number {
  const now = devices.find(({ device }) => device === name);
  return now === undefined
    ? Infinity
    : usableBytes({ memory_free: now.memoryFree, memory_total: now.memoryTotal });
}

export class ImageWork implements EngineWork {
  private readonly options: ImageOptions;
  private backend: DiffusionBackend | undefined;
  private devices: DeviceWatch | undefined;
  private queue: ImageQueue | undefined;
  private stopping = false;
  private wake: (() => void) | undefined;

  constructor(options: ImageOptions) {
    this.options = options;
  }

  async run(): Promise<number> {
    leaveCrashesToParent();
    void this.load(); // in the background: the first message may be `stop`
    while (!this.stopping) {
      if (this.queue === undefined || this.queue.isIdle || this.isBroken()) {
        await new Promise<void>((resolve) => (this.wake = resolve));
      } else {
        await this.queue.generateNext();
        this.sendDevices(); // the first image reads the weights
        if (!this.isBroken()) continue;
        if (this.backend?.isOnDevice === true) return 1; // the serving process counts that as a fault of the device
        send({ type: "failed", error: BROKEN });
      }
    }
    return 0;
  }

  receive(message: WorkMessage): void {
    switch (message.type) {
      case "draw":
        this.queue?.add(message.id, message.request);
        break;
      case "abort":
        this.queue?.abort(message.id);
        break;
      case "stop":
        this.stopping = true;
        this.queue?.stop();
        break;
      case "start": // received already
      case "run": // the rest is for other kinds of models
      case "speak":
      case "speak_on":
      case "embed":
      case "calibrate":
      case "load_adapter":
      case "free_adapter":
      case "threads":
        break;
      default:
        unreachable(message);
    }
    this.wake?.();
  }

  sendDevices(): void {
    const devices = this.devices?.() ?? [];
    if (devices.length > 0) send({ type: "devices", devices });
  }

  private isBroken(): boolean {
    return this.backend?.isBroken === true;
  }

  private async load(): Promise<void> {
    try {
      const { backend, host, devices } = await load(this.options);
      const defaults = familyDefaults(backend.family);
      this.backend = backend;
      this.devices = devices;
      this.queue = new ImageQueue({
        backend,
        steps: this.options.steps ?? defaults.steps,
        guidance: this.options.guidance ?? defaults.guidance,
        emit: (id, event) => send({ type: "events", runs: [id], events: [event] }),
        log: (line) => send({ type: "log", line }),
        newSeed,
        now: () => performance.now(),
        sleep: (ms) => Bun.sleep(ms),
      });
      send({ type: "ready", info: backend.info, host });
      this.sendDevices();
    } catch (error) {
      sendFailure(error);
    }
  }
}
