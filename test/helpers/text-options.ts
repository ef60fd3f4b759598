// Options of a text engine that computes on the CPU, and a request to it.

import type { RunRequest } from "../../src/core/run.ts";
import { DEFAULT_SAMPLING } from "../../src/core/sampling.ts";
import type { TextOptions } from "../../src/engine/protocol.ts";

export const TEXT_OPTIONS: TextOptions = {
  kind: "text",
  cacheDir: "",
  maxSeqs: 4,
  prefixCacheN: 0,
  cacheType: "f16",
  pagedAttn: true,
  batch: 512,
  ubatch: 512,
  deviceLayers: 0,
  verbosity: 0,
};

export const TEXT_REQUEST: RunRequest = {
  model: "default",
  prompt: { type: "text", text: "Hello" },
  sampling: DEFAULT_SAMPLING,
  stop: [],
  choices: 1,
  truncate: false,
};
