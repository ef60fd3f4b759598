// Who draws when, with a library that draws a grey picture in as many looks as it has steps.

import { describe, expect, test } from "bun:test";
import { decode } from "fast-png";
import { ServiceError } from "../../../src/core/error.ts";
import type { ImageEvent, ImageRequest } from "../../../src/core/image.ts";
import { ImageQueue } from "../../../src/worker/image/queue.ts";
import type { ImageGeneration, ImageBackend, ImageSpec } from "../../../src/worker/image/backend.ts";
import { familyDefaults } from "../../../src/worker/image/family.ts";

const STEPS = 3;

class FakeGeneration implements ImageGeneration {
  state: ImageGeneration["state"] = "running";
  steps = 0;
  failure = "";
  isFreed = false;
  private readonly spec: ImageSpec;

  constructor(spec: ImageSpec) {
    this.spec = spec;
  }

  /** Goes on by a step. */
  look(): void {
    if (this.state !== "running") return;
    this.steps++;
    if (this.steps === STEPS) this.state = "done";
  }

  cancel(): void {
    this.state = "cancelled";
  }

  pixels() {
    const width = Math.ceil(this.spec.width / 8) * 8;
    const height = Math.ceil(this.spec.height / 8) * 8;
    return { width, height, data: new Uint8Array(width * height * 3).fill(this.spec.seed) };
  }

  free(): void {
    this.isFreed = true;
  }
}

function setup() {
  const generations: FakeGeneration[] = [];
  const specs: ImageSpec[] = [];
  const emitted: [number, ImageEvent][] = [];
  const log: string[] = [];
  const tiled: boolean[] = [];
  const hooks: { onLook?: (generation: FakeGeneration) => void } = {};
  const backend: ImageBackend = {
    info: { kind: "image", description: "fake", architecture: "fake", sizeBytes: 1, threads: 1 },
    family: "fake",
    isBroken: false,
    decodesInTiles: async ({ prompt }) => {
      if (prompt === "enormous")
        throw new ServiceError("unsupported_value", "at most 8 x 8", { param: "width" });
      return prompt === "large";
    },
    generate: (spec, inTiles) => {
      tiled.push(inTiles);
      if (spec.prompt === "impossible") throw new Error("/secret is gone");
      const generation = new FakeGeneration(spec);
      specs.push(spec);
      generations.push(generation);
      return generation;
    },
  };
  const queue = new ImageQueue({
    backend,
    steps: STEPS,
    guidance: 1,
    emit: (id, event) => void emitted.push([id, event]),
    log: (line) => void log.push(line),
    newSeed: () => 100,
    now: () => 0,
    sleep: async () => {
      const current = generations.at(-1);
      current?.look();
      if (current !== undefined) hooks.onLook?.(current);
    },
  });
  const all = async (): Promise<void> => {
    while (!queue.isIdle) await queue.generateNext();
  };
  const kinds = (): string[] => emitted.map(([id, event]) => `${id} ${event.type}`);
  return { queue, all, emitted, kinds, log, generations, specs, hooks, tiled };
}

function request(count: number, extra: Partial<ImageRequest> = {}): ImageRequest {
  return { model: "m", prompt: "a cat", count, width: 13, height: 9, ...extra };
}

describe("drawing", () => {
  test("steps are told, then the image in the size asked for, then the end", async () => {
    const { queue, all, emitted, kinds, generations } = setup();
    queue.add(1, request(1, { seed: 5 }));
    await all();
    expect(kinds()).toEqual(["1 step", "1 step", "1 step", "1 image", "1 finish"]);
    const image = emitted.find(([, event]) => event.type === "image")?.[1];
    if (image?.type !== "image") throw new Error("there is no picture");
    const png = decode(Buffer.from(image.png, "base64"));
    expect([png.width, png.height, png.channels, png.data[0]]).toEqual([13, 9, 3, 5]);
    expect(generations.every(({ isFreed }) => isFreed)).toBe(true);
  });

  test("each image of a request has the next seed; without one they are new", async () => {
    const { queue, all, specs } = setup();
    queue.add(1, request(3, { seed: 7 }));
    queue.add(2, request(1));
    await all();
    expect(specs.map(({ seed }) => seed)).toEqual([7, 100, 8, 9]);
  });

  test("requests take turns by the image", async () => {
    const { queue, all, kinds } = setup();
    queue.add(1, request(3));
    queue.add(2, request(1));
    await all();
    expect(kinds().filter((kind) => !kind.endsWith("step"))).toEqual([
      "1 image",
      "2 image",
      "2 finish",
      "1 image",
      "1 image",
      "1 finish",
    ]);
  });

  test("what was aborted is cancelled and never spoken of again", async () => {
    const { queue, all, kinds, hooks, generations } = setup();
    queue.add(1, request(2));
    queue.add(2, request(1));
    queue.add(3, request(1));
    hooks.onLook = () => {
      queue.abort(1);
      queue.abort(3);
      hooks.onLook = undefined as never;
    };
    await all();
    expect(kinds().filter((kind) => !kind.endsWith("step"))).toEqual(["2 image", "2 finish"]);
    expect(generations.map(({ state }) => state)).toEqual(["cancelled", "done"]);
  });

  test("an image without memory is refused in words before anything is drawn; a large one is decoded in tiles", async () => {
    const { queue, all, emitted, log, generations, tiled } = setup();
    queue.add(1, request(1, { prompt: "enormous" }));
    queue.add(2, request(1, { prompt: "large" }));
    queue.add(3, request(1));
    await all();
    expect(emitted[0]).toEqual([
      1,
      { type: "error", error: { code: "unsupported_value", message: "at most 8 x 8", param: "width" } },
    ]);
    expect([generations.length, tiled, log]).toEqual([2, [true, false], []]);
  });

  test("a failure is an error without its reason, which is logged; the next request is drawn", async () => {
    const { queue, all, emitted, kinds, log, hooks, generations } = setup();
    queue.add(1, request(1, { prompt: "impossible" }));
    queue.add(2, request(1));
    queue.add(3, request(1));
    hooks.onLook = (generation) => {
      if (generation !== generations[0]) return;
      generation.state = "failed";
      generation.failure = "no memory";
    };
    await all();
    expect(kinds().filter((kind) => !kind.endsWith("step"))).toEqual([
      "1 error",
      "2 error",
      "3 image",
      "3 finish",
    ]);
    expect(JSON.stringify(emitted.filter(([, event]) => event.type === "error"))).not.toMatch(
      /secret|memory/,
    );
    expect(log.join()).toMatch(/secret.*no memory/);
  });

  test("stopping ends everything", async () => {
    const { queue, all, kinds, hooks } = setup();
    queue.add(1, request(2));
    queue.add(2, request(2));
    hooks.onLook = () => queue.stop();
    await all();
    expect(kinds().filter((kind) => !kind.endsWith("step"))).toEqual([]);
  });
});

test.each([
  ["SDXL", 20, 7],
  ["SDXS (512-DS)", 1, 1],
  ["Flux", 20, 1],
  ["Flux.2 klein", 4, 1],
  ["Flux.2", 20, 1],
  ["Z-Image", 8, 1],
])("%s is drawn in %p steps with guidance %p", (family, steps, guidance) => {
  expect(familyDefaults(family)).toEqual({ steps, guidance });
});
