// What `svc bench` prints of a model's place.

import { expect, test } from "bun:test";
import { benchReport, benchTable } from "../../src/cli/measure-table.ts";

const INFO = { description: "toy", sizeBytes: 4e6, threads: 2, cells: 512 };
const PLACEMENT = {
  layers: 7,
  device_layers: 7,
  divided_layers: 0,
  devices: ["CUDA0", "CPU"].map((device) => ({
    device,
    description: "",
    weights_bytes: 0,
    cache_bytes: 0,
    compute_bytes: 0,
    estimated_bytes: 0,
  })),
};

test("a model on a device is measured with the device's defaults, and the table says so", () => {
  const [title = ""] = benchTable({ model: "m", info: { ...INFO, placement: PLACEMENT }, rows: [] }).split(
    "\n",
  );
  expect(title).toBe(
    "m: toy, 4.0 MB, 2 threads, on CUDA0 (KV cache of f16 within 90 % of the free memory, at most 4 threads, micro-batches of 1024 tokens, multi-step decode up to 1 ms, drafts of at most 8 tokens)",
  );
  const [plain = ""] = benchTable({ model: "m", info: INFO, rows: [] }).split("\n");
  expect(plain).toBe("m: toy, 4.0 MB, 2 threads");
  const { models } = benchReport([{ model: "m", info: { ...INFO, placement: PLACEMENT }, rows: [] }]);
  expect(models).toMatchObject([{ placement: { device_layers: 7 } }]);
});
