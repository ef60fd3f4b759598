// Options of a text engine that computes on the CPU.

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
