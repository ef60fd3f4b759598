// Each type of KV cache on Mesa's software device beside the CPU: placed there, within the size that the type takes, with equal answers.

import { beforeAll, describe, expect, test } from "bun:test";
import type { Native } from "../../ffi/library.ts";
import { LlamaBackend } from "../../ffi/llama/llama.ts";
import { CACHE_TYPES, type CacheType, elementBytes } from "../../src/core/cache-size.ts";
import type { TextOptions } from "../../src/engine/protocol.ts";
import { TINY_PATH } from "../helpers/native.ts";
import { TEXT_OPTIONS } from "../helpers/text-options.ts";
import { tinyHybrid } from "../helpers/tiny-heads.ts";
import { IS_SLOW, IS_WANTED, vulkanNative } from "./device.ts";

/** The shaders of each type take ten seconds to compile. */
const TYPES = IS_SLOW ? CACHE_TYPES : (["f16", "q8_0"] as const);
const CELLS = 2048;
const TOKENS = 48;
/** Probability that the device may give to other tokens than the CPU: it attends in 16 bits. */
const DIFFERENCE_MAX = 0.05;
/** And for how much a type itself moves. */
const OWN_SHARE = 1.25;

describe.skipIf(!IS_WANTED)("caches on a device", () => {
  let native: Native;
  beforeAll(async () => void (native = await vulkanNative()), 180_000);

  async function open(path: string, cacheType: CacheType, deviceLayers: number): Promise<LlamaBackend> {
    const sizes = { contextLen: CELLS, batch: 64, ubatch: 64, maxSeqs: 2, prefixCacheN: 0, threads: 1 };
    const options: TextOptions = { ...TEXT_OPTIONS, ...sizes, cacheType, deviceLayers, pagedAttn: true };
    return LlamaBackend.load(native, path, options);
  }

  /** Probabilities after a prompt that is computed at once, and after tokens one by one. */
  function probabilities(backend: LlamaBackend): readonly Float64Array[] {
    const tokens = Int32Array.from({ length: TOKENS }, (_, at) => 300 + ((at * 37) % 1000));
    const pass = (from: number, count: number): Float64Array => {
      const columns = {
        token: tokens.subarray(from, from + count),
        position: Int32Array.from({ length: count }, (_, at) => from + at),
        slot: new Int32Array(count),
        output: Int8Array.from({ length: count }, (_, at) => (at === count - 1 ? 1 : 0)),
      };
      expect(backend.decode(columns, count)).toBe("done");
      const logits = backend.logits(count - 1);
      const top = Math.max(...logits);
      const parts = Float64Array.from(logits, (logit) => Math.exp(logit - top));
      const sum = parts.reduce((total, part) => total + part, 0);
      return parts.map((part) => part / sum);
    };
    return [pass(0, TOKENS - 2), pass(TOKENS - 2, 1), pass(TOKENS - 1, 1)];
  }

  /** The largest share of probability of a row that is elsewhere in another one. */
  function differenceOf(some: readonly Float64Array[] = [], others: readonly Float64Array[] = []): number {
    const shares = some.map(
      (row, at) => row.reduce((sum, value, id) => sum + Math.abs(value - (others[at]?.[id] ?? 0)), 0) / 2,
    );
    return Math.max(...shares);
  }

  const sizes = new Map<CacheType, number>();
  const tiny = (): string => TINY_PATH;
  const hybrid = (): string => tinyHybrid({ silent: false, head: false });
  test.each([
    ...TYPES.map((type) => [type, "a transformer", tiny] as const),
    ["q8_0", "a hybrid", hybrid] as const,
  ])("%s of %s", async (type, _, file) => {
    const [device, cpu] = [await open(file(), type, -1), await open(file(), type, 0)];
    const { placement } = device.info;
    expect(placement?.device_layers).toBe(placement?.layers);
    const { cache_bytes: cache = 0 } = placement?.devices[0] ?? {};
    if (file === tiny) sizes.set(type, cache);
    expect(cache).toBeGreaterThan(0);
    expect(placement?.devices.at(-1)?.cache_bytes).toBe(0);
    // Types of few bits round what differs in the last one to other values: about as far off as the type is from F16.
    const exact = await open(file(), "f16", 0);
    const [onDevice, onCpu, wanted] = [device, cpu, exact].map(probabilities);
    const own = differenceOf(onCpu, wanted);
    expect(differenceOf(onDevice, onCpu)).toBeLessThan(DIFFERENCE_MAX + OWN_SHARE * own);
    exact.close();
    for (const backend of [device, cpu]) backend.close();
  });

  test("each takes what its type says", () => {
    const f16 = sizes.get("f16") ?? 0;
    for (const [type, bytes] of sizes) expect([type, bytes / f16]).toEqual([type, elementBytes(type) / 2]);
  });
});
