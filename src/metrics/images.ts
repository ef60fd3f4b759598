// Metrics of image generation, over all image models.

import type { Registry } from "prom-client";
import type { ImageMeter } from "../core/telemetry.ts";
import { addCounter, addGauge, single } from "./read-when-asked.ts";

export class ImageMetrics implements ImageMeter {
  private requests = 0;
  private steps = 0;
  private images = 0;
  private seconds = 0;

  constructor(registry: Registry) {
    addGauge(registry, {
      name: "svc_image_requests",
      help: "Image requests that run or wait.",
      read: single(() => this.requests),
    });
    addCounter(registry, {
      name: "svc_images_total",
      help: "Images generated.",
      read: single(() => this.images),
    });
    addCounter(registry, {
      name: "svc_image_steps_total",
      help: "Completed image steps, also of cancelled images.",
      read: single(() => this.steps),
    });
    addCounter(registry, {
      name: "svc_image_seconds_total",
      help: "Time of image generation.",
      read: single(() => this.seconds),
    });
  }

  began(): void {
    this.requests++;
  }

  stepped(steps: number): void {
    this.steps += steps;
  }

  drawn(seconds: number): void {
    this.images++;
    this.seconds += seconds;
  }

  ended(): void {
    this.requests--;
  }
}
