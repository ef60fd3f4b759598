import { describe, expect, test } from "bun:test";
import type { AdapterLoad } from "../../src/core/adapter.ts";
import { ServiceError } from "../../src/core/error.ts";
import { AdapterError } from "../../src/lora/adapter-error.ts";
import { AdapterRegistry, type PreparedAdapter } from "../../src/lora/registry.ts";
import { refusalCode } from "../helpers/refusal.ts";

/** Sources are generations here; `gen:8:100` has rank 8 and 100 bytes. */
function world(limits = { adaptersMax: 3, rankMax: 16, bytesMax: 1000 }) {
  const held = new Map<number, string>();
  const blocked: { release?: () => void } = {};
  const registry = new AdapterRegistry({
    limits,
    prepare: async (source): Promise<PreparedAdapter> => {
      if (source === "slow") await new Promise<void>((resolve) => (blocked.release = resolve));
      if (source === "bad") throw new AdapterError("a reason");
      const [generation = "", rank = "4", bytes = "100"] = source.split(":");
      return { generation, file: `${generation}.gguf`, rank: Number(rank), bytes: Number(bytes) };
    },
    host: {
      loadAdapter: async (adapter, file) => {
        if (file === "misfit.gguf") throw new ServiceError("invalid_adapter", "misfit");
        expect(held.has(adapter)).toBe(false);
        held.set(adapter, file);
      },
      freeAdapter: (adapter) => expect(held.delete(adapter)).toBe(true),
    },
  });
  const load = (alias: string, source: string, extra: Partial<AdapterLoad> = {}) =>
    registry.load({ alias, source, inPlace: false, ...extra });
  return { registry, held, blocked, load };
}

describe("aliases and generations", () => {
  test("an alias selects its generation; aliases of equal content share one", async () => {
    const { registry, held, load } = world();
    expect(await load("a", "g1:8:100")).toEqual({
      alias: "a",
      source: "g1:8:100",
      generation: "g1",
      rank: 8,
      bytes: 100,
    });
    await load("b", "g1:8:100");
    expect([...held.values()]).toEqual(["g1.gguf"]);
    expect(registry.records()).toEqual([
      { generation: "g1", aliases: ["a", "b"], rank: 8, bytes: 100, activeLeases: 0, retired: false },
    ]);
    registry.unload("a", undefined);
    expect(held.size).toBe(1);
    registry.unload("b", "g1");
    expect(held.size).toBe(0);
    expect(registry.records()).toEqual([]);
  });

  test("replacing keeps the generation of running requests until the last one ends", async () => {
    const { registry, held, load } = world();
    await load("a", "g1");
    const first = registry.lease({ alias: "a" });
    const second = registry.lease({ generation: "g1" });
    await load("a", "g2", { inPlace: true, expectedGeneration: "g1" });
    expect(registry.lease({ alias: "a" }).generation).toBe("g2");
    expect(registry.records().map(({ generation, retired }) => [generation, retired])).toEqual([
      ["g1", true],
      ["g2", false],
    ]);
    first.release();
    expect(held.size).toBe(2);
    second.release();
    expect([...held.values()]).toEqual(["g2.gguf"]);
  });

  test("a retired generation that is loaded again is reactivated", async () => {
    const { registry, held, load } = world();
    await load("a", "g1");
    const lease = registry.lease({ alias: "a" });
    registry.unload("a", undefined);
    await load("b", "g1");
    lease.release();
    expect(held.size).toBe(1);
    expect(registry.records()[0]).toMatchObject({ aliases: ["b"], retired: false });
  });

  test("the compare-and-set rules", async () => {
    const { registry, load } = world();
    expect(await refusalCode(() => load("a", "g1", { expectedGeneration: "g0" }))).toBe(
      "generation_mismatch",
    );
    await load("a", "g1");
    expect(await refusalCode(() => load("a", "g2"))).toBe("adapter_exists");
    expect(await refusalCode(() => load("a", "g2", { inPlace: true, expectedGeneration: "g0" }))).toBe(
      "generation_mismatch",
    );
    expect(await refusalCode(() => registry.unload("a", "g0"))).toBe("generation_mismatch");
    expect(await refusalCode(() => registry.unload("z", undefined))).toBe("adapter_not_found");
    expect(await refusalCode(() => registry.lease({ alias: "z" }))).toBe("adapter_not_found");
    expect(await refusalCode(() => registry.lease({ generation: "g9" }))).toBe("adapter_not_found");
    expect(registry.entries().map(({ generation }) => generation)).toEqual(["g1"]);
  });
});

describe("loading", () => {
  test("one at a time; the second is rejected and can be retried", async () => {
    const { blocked, load } = world();
    const slow = load("a", "slow");
    expect(await refusalCode(() => load("b", "g1"))).toBe("adapter_load_in_progress");
    blocked.release?.();
    expect((await slow).generation).toBe("slow");
    expect((await load("b", "g1")).alias).toBe("b");
  });

  test("a failed load leaves nothing behind", async () => {
    const { registry, held, load } = world();
    expect(await refusalCode(() => load("a", "bad"))).toBe("invalid_adapter");
    expect(await refusalCode(() => load("a", "misfit"))).toBe("invalid_adapter");
    expect([registry.entries(), registry.records(), held.size]).toEqual([[], [], 0]);
    expect((await load("a", "g1")).generation).toBe("g1");
  });

  test("what can never fit is too large: rank and bytes", async () => {
    const { load } = world();
    expect(await refusalCode(() => load("a", "g1:17:1"))).toBe("adapter_too_large");
    expect(await refusalCode(() => load("a", "g1:8:1001"))).toBe("adapter_too_large");
  });

  test("capacity: number and bytes, minus the replaced adapter", async () => {
    const { load, registry } = world();
    await load("a", "g1:8:500");
    expect(await refusalCode(() => load("b", "g2:8:501"))).toBe("lora_capacity_exceeded");
    await load("b", "g2:8:250");
    await load("c", "g3:8:250");
    expect(await refusalCode(() => load("d", "g4:8:1"))).toBe("lora_capacity_exceeded");
    await load("c", "g4:8:250", { inPlace: true });
    const lease = registry.lease({ alias: "c" });
    expect(await refusalCode(() => load("c", "g5:8:250", { inPlace: true }))).toBe("lora_capacity_exceeded");
    lease.release();
    await load("c", "g5:8:250", { inPlace: true });
  });
});
