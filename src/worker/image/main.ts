// What an engine process does for an image model: draws pictures, one at a time, on a thread of the library.

import { leaveCrashesToParent } from "../../../ffi/crash-signals.ts";
import { unpackImage } from "../../../ffi/embedded.ts";
import { DiffusionBackend } from "../../../ffi/image.ts";
import { openImage } from "../../../ffi/library.ts";
import { unreachable } from "../../core/assert.ts";
import type { ImageOptions } from "../../engine/protocol.ts";
import { Drawings } from "./drawings.ts";
import { mannerOf } from "./family.ts";
import { type EngineWork, newSeed, send, sendFailure, type WorkMessage } from "../shared/work.ts";

const BROKEN = {
  code: "engine_failed",
  message: "the image library has given up within a picture; its process is started anew",
} as const;

export class ImageWork implements EngineWork {
  private readonly options: ImageOptions;
  private backend: DiffusionBackend | undefined;
  private drawings: Drawings | undefined;
  private stopping = false;
  private wake: (() => void) | undefined;

  constructor(options: ImageOptions) {
    this.options = options;
  }

  async run(): Promise<number> {
    leaveCrashesToParent();
    void this.load(); // messages are read meanwhile; the first of them may be to stop
    while (!this.stopping) {
      if (this.drawings === undefined || this.drawings.isIdle || this.isBroken()) {
        await new Promise<void>((resolve) => (this.wake = resolve));
      } else {
        await this.drawings.drawNext();
        if (this.isBroken()) send({ type: "failed", error: BROKEN });
      }
    }
    return 0;
  }

  receive(message: WorkMessage): void {
    switch (message.type) {
      case "draw":
        this.drawings?.add(message.id, message.request);
        break;
      case "abort":
        this.drawings?.abort(message.id);
        break;
      case "stop":
        this.stopping = true;
        this.drawings?.stop();
        break;
      case "start": // it has been: nothing is sent twice
      case "run": // the rest is for models of other kinds
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
      const manner = mannerOf(backend.family);
      this.backend = backend;
      this.drawings = new Drawings({
        backend,
        steps: this.options.steps ?? manner.steps,
        guidance: this.options.guidance ?? manner.guidance,
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
