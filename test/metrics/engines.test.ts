// Numbers of engines: they add up over engines and go on over restarts.

import { expect, test } from "bun:test";
import { type EngineStats, ROWS_BUCKETS, STEP_BUCKETS } from "../../src/core/telemetry.ts";
import { Metrics } from "../../src/metrics/metrics.ts";
import { StepMeter } from "../../src/worker/text/step-meter.ts";
import { expectSound, valueOf } from "../helpers/prometheus.ts";

/** An engine that has done a step of 7 prompt tokens and `steps` steps of one token. */
function stats(steps: number, gauges: Partial<EngineStats> = {}): EngineStats {
  const meter = new StepMeter();
  meter.admitted(0);
  meter.admitted(5);
  meter.preempted(1);
  meter.stepped(30, 7, 7, 1);
  for (let i = 0; i < steps; i++) meter.stepped(2, 1, 0, 1);
  const levels = {
    waiting: 1,
    slots: 4,
    running: 2,
    cells: 512,
    cellsRunning: 9,
    cellsKept: 3,
    checkpoints: 2,
    checkpointBytes: 4096,
    checkpointsRestored: 6,
    tierBytes: 2048,
    tierTokens: 64,
    tierReadTokens: 128,
    tierWrittenBytes: 512,
    tierBadBlocks: 1,
    tierFailedWrites: 2,
    residentBytes: 1000,
    embedTokens: 2,
    mediaEncoded: 3,
    mediaReused: 1,
    mediaSecs: 0.5,
  };
  return { ...levels, ...meter.counted(), ...gauges };
}

test("evictions by reason, with the memory that they free", async () => {
  const metrics = new Metrics();
  const [first, second] = [metrics.newEngine(), metrics.newEngine()];
  first.evicted("memory", 100);
  second.evicted("memory", 50);
  second.evicted("idle", 7);
  const text = await metrics.text();
  expectSound(text);
  expect(text.match(/^svc_model_evict.*/gm)).toEqual([
    'svc_model_evictions_total{reason="memory"} 2',
    'svc_model_evictions_total{reason="count"} 0',
    'svc_model_evictions_total{reason="idle"} 1',
    'svc_model_evicted_bytes_total{reason="memory"} 150',
    'svc_model_evicted_bytes_total{reason="count"} 0',
    'svc_model_evicted_bytes_total{reason="idle"} 7',
  ]);
});

test("devices: one series each, of the engine that has seen it last; utilization where the driver tells", async () => {
  const metrics = new Metrics();
  const [first, second] = [metrics.newEngine(), metrics.newEngine()];
  expect(await metrics.text()).not.toContain("svc_device_memory_total_bytes{");
  second.saw({
    atMs: 20,
    devices: [
      { device: "CUDA0", memoryTotal: 100, memoryFree: 40, utilization: 0.5 },
      { device: "CUDA1", memoryTotal: 200, memoryFree: 190 },
    ],
  });
  first.saw({ atMs: 10, devices: [{ device: "CUDA0", memoryTotal: 100, memoryFree: 60 }] });
  const text = await metrics.text();
  expect(text).toContain('svc_device_memory_free_bytes{device="CUDA0"} 40\n');
  expect(text).toContain('svc_device_memory_total_bytes{device="CUDA1"} 200\n');
  expect(text.match(/^svc_device_utilization_ratio\{.*/gm)).toEqual([
    'svc_device_utilization_ratio{device="CUDA0"} 0.5',
  ]);
  first.saw({ atMs: 30, devices: [{ device: "CUDA0", memoryTotal: 100, memoryFree: 50 }] });
  expect(await metrics.text()).toContain('svc_device_memory_free_bytes{device="CUDA0"} 50\n');
  first.ended(false);
  expect(await metrics.text()).toContain('svc_device_memory_free_bytes{device="CUDA0"} 40\n');
});

test("engines are summed, and counts of ended processes are kept", async () => {
  const metrics = new Metrics();
  const [first, second] = [metrics.newEngine(), metrics.newEngine()];
  const read = async (name: string) => valueOf(await metrics.text(), name);
  first.report(stats(10));
  first.report(stats(20)); // replaces the one before
  second.report(stats(3, { running: 5 }));
  expect(await read("svc_decode_tokens_total")).toBe(25);
  expect(await read("svc_prefill_tokens_total")).toBe(14);
  expect(await read("svc_running_sequences")).toBe(7);
  expect(await read("svc_kv_cells")).toBe(1024);

  expect(await read("svc_checkpoints")).toBe(4);
  expect(await read("svc_checkpoint_bytes")).toBe(8192);
  expect(await read("svc_cache_memory_bytes")).toBe(4096);

  first.ended(true);
  expect(await read("svc_checkpoints_restored_total")).toBe(12);
  expect(await read("svc_cache_restored_tokens_total")).toBe(128);
  expect(await read("svc_cache_disk_read_tokens_total")).toBe(256);
  expect(await read("svc_cache_disk_written_bytes_total")).toBe(1024);
  expect(await read("svc_cache_bad_blocks_total")).toBe(2);
  expect(await read("svc_cache_disk_failures_total")).toBe(4);
  expect(await read("svc_cache_memory_bytes")).toBe(2048);
  expect(await read("svc_checkpoints")).toBe(2);
  expect(await read("svc_decode_tokens_total")).toBe(25);
  expect(await read("svc_running_sequences")).toBe(5);
  expect(await read("svc_engine_restarts_total")).toBe(1);
  for (let i = 0; i < 3; i++) {
    first.report(stats(0));
    first.ended(true);
  }
  second.hung();
  second.ended(false);
  const text = await metrics.text();
  expectSound(text);
  expect(valueOf(text, "svc_decode_tokens_total")).toBe(28);
  expect(valueOf(text, "svc_prefix_cache_queries_total")).toBe(10);
  expect(valueOf(text, "svc_prefix_cache_hits_total")).toBe(5);
  expect(valueOf(text, "svc_prefix_cache_tokens_total")).toBe(25);
  expect(valueOf(text, "svc_preemptions_total")).toBe(5);
  expect(valueOf(text, "svc_engine_restarts_total")).toBe(4);
  expect(valueOf(text, "svc_engine_hangs_total")).toBe(1);
  expect(valueOf(text, "svc_kv_cells")).toBe(0);
  expect(valueOf(text, "svc_step_rows_count")).toBe(28);
  expect(valueOf(text, "svc_step_rows_bucket", { le: "1" })).toBe(23);
  expect(valueOf(text, "svc_step_rows_sum")).toBe(23 + 5 * 7);
  expect(valueOf(text, "svc_step_seconds_bucket", { le: "0.0025" })).toBe(23);
  expect(valueOf(text, "svc_step_seconds_sum")).toBeCloseTo(0.002 * 23 + 0.03 * 5);
});

test("a value on a bound belongs to its bucket, one above all to the last", () => {
  const meter = new StepMeter();
  for (const rows of [...ROWS_BUCKETS, 1_000_000]) meter.stepped(1e9, rows, 0, rows);
  const { rows, steps } = meter.counted();
  expect(rows.counts).toEqual(Array.from({ length: ROWS_BUCKETS.length + 1 }, () => 1));
  expect(steps.counts).toEqual([...STEP_BUCKETS.map(() => 0), ROWS_BUCKETS.length + 1]);
});

test("without an engine all metrics are zero", async () => {
  const text = await new Metrics().text();
  expectSound(text);
  expect(valueOf(text, "svc_queue_depth")).toBe(0);
  expect(valueOf(text, "svc_step_seconds_count")).toBe(0);
  expect(valueOf(text, "process_resident_memory_bytes")).toBeGreaterThan(1e6);
});
