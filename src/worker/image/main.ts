// The engine process of an image model: loads it and generates images, one at a time, on a thread of the library.

import { leaveCrashesToParent } from "../../../ffi/linux/crash-signals.ts";
import { unpackImage } from "../../../ffi/embedded.ts";
import { DiffusionBackend } from "../../../ffi/image/image.ts";
import { openImage } from "../../../ffi/library.ts";
import { unreachable } from "../../core/assert.ts";
import type { ImageOptions } from "../../engine/protocol.ts";
import { familyDefaults } from "./family.ts";
import { ImageQueue } from "./queue.ts";
import { type EngineWork, newSeed, send, sendFailure, type WorkMessage } from "../shared/work.ts";

const BROKEN = {
  code: "engine_failed",
  message: "The image library failed while it generated an image. Its process is restarted.",
} as const;

export class ImageWork implements EngineWork {
  private readonly options: ImageOptions;
  private backend: DiffusionBackend | undefined;
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
        if (this.isBroken()) send({ type: "failed", error: BROKEN });
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

  private isBroken(): boolean {
    return this.backend?.isBroken === true;
  }

  private async load(): Promise<void> {
    const { cacheDir, verbosity } = this.options;
    try {
      const native = openImage(unpackImage(cacheDir), verbosity);
      const backend = await DiffusionBackend.load(native, this.options, (permille) =>
        send({ type: "loading", permille }),
      );
      const defaults = familyDefaults(backend.family);
      this.backend = backend;
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
      send({ type: "ready", info: backend.info });
    } catch (error) {
      sendFailure(error);
    }
  }
}
