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

test("a row with a limit says how much of it the model reaches", () => {
  const row = {
    test: "answer" as const,
    tokens: 4,
    depth: 0,
    concurrency: 1,
    repetitions: 2,
    steady: true,
    tokens_per_second: { mean: 45, sd: 1 },
    machine: { bytes_per_second: 2e10, products_per_second: 3e11 },
    roofline: { tokens_per_second: 50, by: "memory" as const, share: 0.9 },
  };
  const later = { ...row, machine: { bytes_per_second: 4.5e10, products_per_second: 3e11 } };
  const table = benchTable({ model: "m", info: INFO, rows: [row, later] });
  expect(table).toMatch(/at once +tokens\/s +limit +of it +by\n/);
  expect(table).toMatch(/45\.00 ± 1\.00 +50\.00 +90 % +memory\n/);
  expect(table).toContain("memory gave 20.0 to 45.0 GB/s, and cores 300 billion multiply-adds/s");
});

test("a model on a device is measured with the device's defaults, and the table says so", () => {
  const [title = ""] = benchTable({ model: "m", info: { ...INFO, placement: PLACEMENT }, rows: [] }).split(
    "\n",
  );
  expect(title).toBe(
    "m: toy, 4.0 MB, 2 threads, on CUDA0 (KV cache of f16 within 90 % of the free memory, at most 4 threads, micro-batches of 1024 (mixtures 2048) tokens, multi-step decode up to 1 ms, drafts of at most 8 tokens)",
  );
  const [plain = ""] = benchTable({ model: "m", info: INFO, rows: [] }).split("\n");
  expect(plain).toBe("m: toy, 4.0 MB, 2 threads");
  const { models } = benchReport([{ model: "m", info: { ...INFO, placement: PLACEMENT }, rows: [] }]);
  expect(models).toMatchObject([{ placement: { device_layers: 7 } }]);
});
