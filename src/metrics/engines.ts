// Metrics of the engines: the sum over all of them, unlabeled. Spec: Metrics. Counters go on over restarts.

import type { Registry } from "prom-client";
import { joinHistograms } from "../core/histogram.ts";
import {
  DRAFT_BUCKETS,
  type DeviceReadings,
  type DeviceStats,
  type EngineMeter,
  type EngineStats,
  EVICTION_REASONS,
  type EvictionReason,
  newestReadings,
  ROWS_BUCKETS,
  STEP_BUCKETS,
} from "../core/telemetry.ts";
import { addCounter, addGauge, addHistogram, type Labeled, single } from "./read-when-asked.ts";

/** Fields of EngineStats that are plain numbers. */
type NumberField = {
  [Field in keyof EngineStats]: EngineStats[Field] extends number ? Field : never;
}[keyof EngineStats];

const COUNTERS: readonly (readonly [NumberField, name: string, help: string])[] = [
  ["prefillTokens", "svc_prefill_tokens_total", "Prompt tokens computed."],
  ["decodeTokens", "svc_decode_tokens_total", "Tokens generated."],
  ["embedTokens", "svc_embed_tokens_total", "Tokens of embedded texts."],
  ["mediaEncoded", "svc_media_encoded_total", "Media chunks that were encoded."],
  ["mediaReused", "svc_media_reused_total", "Media chunks whose encoding was reused."],
  ["mediaSecs", "svc_media_encode_seconds_total", "Time spent encoding media chunks."],
  ["prefixQueries", "svc_prefix_cache_queries_total", "Prefix cache lookups."],
  ["prefixHits", "svc_prefix_cache_hits_total", "Prefix cache hits."],
  ["prefixTokens", "svc_prefix_cache_tokens_total", "Prompt tokens taken from the prefix cache."],
  [
    "checkpointsRestored",
    "svc_checkpoints_restored_total",
    "Restored checkpoints, of recurrent and hybrid models.",
  ],
  [
    "tierTokens",
    "svc_cache_restored_tokens_total",
    "Prompt tokens restored from copies outside the KV cache.",
  ],
  ["tierReadTokens", "svc_cache_disk_read_tokens_total", "Tokens whose copies were read from disk."],
  ["tierWrittenBytes", "svc_cache_disk_written_bytes_total", "Bytes of copies written to disk."],
  ["tierBadBlocks", "svc_cache_bad_blocks_total", "Copies that failed their check and were deleted."],
  ["tierFailedWrites", "svc_cache_disk_failures_total", "Failed writes of copies to disk."],
  ["draftTokens", "svc_draft_tokens_total", "Draft tokens of speculative decoding."],
  ["draftHits", "svc_draft_hits_total", "Accepted draft tokens."],
  ["preemptions", "svc_preemptions_total", "Preempted sequences."],
  [
    "closedThoughts",
    "svc_thinking_closed_total",
    "Answers whose reasoning was ended at its budget, or to leave room for the answer.",
  ],
];

const GAUGES: readonly (readonly [NumberField, name: string, help: string])[] = [
  ["waiting", "svc_queue_depth", "Waiting sequences."],
  ["slots", "svc_sequence_slots", "Sequences that can run at the same time in all engines."],
  ["running", "svc_running_sequences", "Running sequences."],
  ["cells", "svc_kv_cells", "KV cells of all engines."],
  ["cellsRunning", "svc_kv_cells_used", "KV cells of running sequences."],
  ["cellsKept", "svc_kv_cells_kept", "KV cells of the prefix cache that no running sequence uses."],
  ["checkpoints", "svc_checkpoints", "Checkpoints in memory, of recurrent and hybrid models."],
  ["checkpointBytes", "svc_checkpoint_bytes", "Memory of the checkpoints."],
  ["tierBytes", "svc_cache_memory_bytes", "Memory of the copies outside the KV cache."],
  ["residentBytes", "svc_engine_resident_memory_bytes", "Resident memory of the engine processes."],
];

const HISTOGRAMS: readonly (readonly [
  field: "rows" | "steps" | "draftLengths" | "draftAccepted",
  bounds: readonly number[],
  name: string,
  help: string,
])[] = [
  ["rows", ROWS_BUCKETS, "svc_step_rows", "Rows of one engine step."],
  ["steps", STEP_BUCKETS, "svc_step_seconds", "Time of one engine step."],
  ["draftLengths", DRAFT_BUCKETS, "svc_draft_length_tokens", "Tokens of each draft."],
  ["draftAccepted", DRAFT_BUCKETS, "svc_draft_accepted_tokens", "Accepted tokens of each draft."],
];

const DEVICE_GAUGES: readonly {
  readonly name: string;
  readonly help: string;
  readonly of: (device: DeviceStats) => number | undefined;
}[] = [
  {
    name: "svc_device_memory_total_bytes",
    help: "Memory of a graphics card or another device.",
    of: ({ memoryTotal }) => memoryTotal,
  },
  {
    name: "svc_device_memory_free_bytes",
    help: "Free memory of the device, as an engine has seen it last.",
    of: ({ memoryFree }) => memoryFree,
  },
  {
    name: "svc_device_utilization_ratio",
    help: "Share of the time in which the device computed, where its driver tells.",
    of: ({ utilization }) => utilization,
  },
];

/** One model's engine, over all its processes. */
class Meter implements EngineMeter {
  private current: EngineStats | undefined;
  /** Of the present process alone. */
  readings: DeviceReadings | undefined;
  private readonly past: EngineStats[] = []; // one entry: what ended processes have counted, if any
  restarts = 0;
  hangs = 0;
  /** Evictions and their bytes. */
  readonly evictions = new Map<EvictionReason, { count: number; bytes: number }>();

  report(stats: EngineStats): void {
    this.current = stats;
  }

  saw(readings: DeviceReadings): void {
    this.readings = readings;
  }

  ended(restarts: boolean): void {
    if (restarts) this.restarts++;
    this.readings = undefined;
    if (this.current === undefined) return;
    this.past.push(this.current);
    if (this.past.length > 1) this.past.splice(0, 2, summed(this.past));
    this.current = undefined;
  }

  hung(): void {
    this.hangs++;
  }

  evicted(reason: EvictionReason, evicted: number): void {
    const { count, bytes } = this.evictions.get(reason) ?? { count: 0, bytes: 0 };
    this.evictions.set(reason, { count: count + 1, bytes: bytes + evicted });
  }

  /** Of the present process alone. */
  gauge(field: NumberField): number {
    return this.current?.[field] ?? 0;
  }

  /** Everything ever counted. */
  counted(): readonly EngineStats[] {
    return this.current === undefined ? this.past : [...this.past, this.current];
  }
}

export class EngineMetrics {
  private readonly meters: Meter[] = [];

  constructor(registry: Registry) {
    const { meters } = this;
    const counted = (): readonly EngineStats[] => meters.flatMap((meter) => meter.counted());
    for (const [field, name, help] of COUNTERS) {
      const read = single(() => sum(counted().map((stats) => stats[field])));
      addCounter(registry, { name, help, read });
    }
    addCounter(registry, {
      name: "svc_engine_restarts_total",
      help: "Engine processes restarted after a crash.",
      read: single(() => sum(meters.map(({ restarts }) => restarts))),
    });
    addCounter(registry, {
      name: "svc_engine_hangs_total",
      help: "Engine processes killed because they hung.",
      read: single(() => sum(meters.map(({ hangs }) => hangs))),
    });
    addEvictions(registry, meters);
    for (const [field, name, help] of GAUGES) {
      addGauge(registry, { name, help, read: single(() => sum(meters.map((meter) => meter.gauge(field)))) });
    }
    for (const { name, help, of } of DEVICE_GAUGES) {
      addGauge(registry, { name, help, labelNames: ["device"], read: () => deviceSeries(meters, of) });
    }
    for (const [field, bounds, name, help] of HISTOGRAMS) {
      const read = single(() =>
        joinHistograms(
          counted().map((stats) => stats[field]),
          bounds,
        ),
      );
      addHistogram(registry, { name, help, read }, bounds);
    }
  }

  /** Numbers of one more engine. They stay counted when it has gone for good. */
  newMeter(): EngineMeter {
    const meter = new Meter();
    this.meters.push(meter);
    return meter;
  }
}

function addEvictions(registry: Registry, meters: readonly Meter[]): void {
  const labelNames = ["reason"];
  const read = (value: "count" | "bytes") => () =>
    EVICTION_REASONS.map((reason): Labeled<number> => [
      { reason },
      sum(meters.map(({ evictions }) => evictions.get(reason)?.[value] ?? 0)),
    ]);
  addCounter(registry, {
    name: "svc_model_evictions_total",
    help: "Models unloaded without a command: for the memory or the place of another one (memory, count), or because they were idle.",
    labelNames,
    read: read("count"),
  });
  addCounter(registry, {
    name: "svc_model_evicted_bytes_total",
    help: "Memory that these models took of all devices.",
    labelNames,
    read: read("bytes"),
  });
}

/** One series for each device: engines of several models see the same ones. */
function deviceSeries(
  meters: readonly Meter[],
  of: (device: DeviceStats) => number | undefined,
): Iterable<Labeled<number>> {
  return [...newestReadings(meters.map(({ readings }) => readings))].flatMap(
    ([device, stats]): readonly Labeled<number>[] => {
      const value = of(stats);
      return value === undefined ? [] : [[{ device }, value]];
    },
  );
}

function summed(all: readonly EngineStats[]): EngineStats {
  const add = (field: NumberField): number => sum(all.map((stats) => stats[field]));
  return {
    waiting: 0,
    slots: 0,
    running: 0,
    cells: 0,
    cellsRunning: 0,
    cellsKept: 0,
    residentBytes: 0,
    prefillTokens: add("prefillTokens"),
    decodeTokens: add("decodeTokens"),
    embedTokens: add("embedTokens"),
    mediaEncoded: add("mediaEncoded"),
    mediaReused: add("mediaReused"),
    mediaSecs: add("mediaSecs"),
    prefixQueries: add("prefixQueries"),
    prefixHits: add("prefixHits"),
    prefixTokens: add("prefixTokens"),
    checkpoints: 0,
    checkpointBytes: 0,
    checkpointsRestored: add("checkpointsRestored"),
    tierBytes: 0,
    tierTokens: add("tierTokens"),
    tierReadTokens: add("tierReadTokens"),
    tierWrittenBytes: add("tierWrittenBytes"),
    tierBadBlocks: add("tierBadBlocks"),
    tierFailedWrites: add("tierFailedWrites"),
    preemptions: add("preemptions"),
    closedThoughts: add("closedThoughts"),
    draftTokens: add("draftTokens"),
    draftHits: add("draftHits"),
    draftLengths: joinHistograms(
      all.map(({ draftLengths }) => draftLengths),
      DRAFT_BUCKETS,
    ),
    draftAccepted: joinHistograms(
      all.map(({ draftAccepted }) => draftAccepted),
      DRAFT_BUCKETS,
    ),
    rows: joinHistograms(
      all.map(({ rows }) => rows),
      ROWS_BUCKETS,
    ),
    steps: joinHistograms(
      all.map(({ steps }) => steps),
      STEP_BUCKETS,
    ),
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
