// Metrics of pictures, over all image models.

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
      help: "Requests for pictures that are being worked on or wait.",
      read: single(() => this.requests),
    });
    addCounter(registry, {
      name: "svc_images_total",
      help: "Pictures drawn.",
      read: single(() => this.images),
    });
    addCounter(registry, {
      name: "svc_image_steps_total",
      help: "Steps of pictures done, also of those that were given up.",
      read: single(() => this.steps),
    });
    addCounter(registry, {
      name: "svc_image_seconds_total",
      help: "Time that drawing the pictures took.",
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
