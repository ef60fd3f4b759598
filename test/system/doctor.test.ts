// The doctor's checks, each with what is right and what is wrong.

import { describe, expect, test } from "bun:test";
import { copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Value } from "@sinclair/typebox/value";
import { DoctorReport, type EngineHost, SystemInfo } from "../../src/core/system.ts";
import { doctorTable } from "../../src/cli/doctor-table.ts";
import {
  acceleratorCheck,
  backlogCheck,
  cacheChecks,
  clockCheck,
  cpuCheck,
  type DoctorDeps,
  examine,
  modelCheck,
  portCheck,
} from "../../src/system/doctor.ts";
import { describeSystem } from "../../src/system/info.ts";
import { availableOf, readMemory } from "../../src/system/memory.ts";
import { TINY_FILE } from "../helpers/binary.ts";
import { tempDir } from "../helpers/tmp.ts";

const HOST: EngineHost = {
  llama_version: "1.2",
  cpu_variant: "haswell",
  cpu_features: ["AVX2", "FMA"],
  kernels: ["packed-gemm", "attention"],
  devices: [
    {
      name: "CPU",
      description: "A processor",
      type: "cpu",
      backend: "CPU",
      memory_total: 2 ** 34,
      memory_free: 2 ** 33,
    },
  ],
  landlock_abi: 3,
  backend_failures: [],
};
const MEMORY = { totalBytes: 2 ** 34, availableBytes: 2 ** 33, limitBytes: undefined };

function deps(changes: Partial<DoctorDeps> = {}): DoctorDeps {
  return {
    host: async () => HOST,
    drivers: [],
    rpcChecks: () => Promise.resolve([]),
    models: [{ id: "tiny", source: { type: "file", path: TINY_FILE }, isLoaded: false }],
    cacheDir: tempDir(),
    hostname: "127.0.0.1",
    port: 0,
    isListening: false,
    now: () => new Date("2030-01-01"),
    ...changes,
  };
}

test("a healthy machine: every check passes, and the report matches its schema", async () => {
  const report = await examine(deps());
  expect(Value.Check(DoctorReport, report)).toBe(true);
  expect(report.checks.map(({ name }) => name)).toEqual([
    "engine",
    "cpu",
    "kernels",
    "accelerator",
    "memory",
    "cache",
    "disk",
    "model tiny",
    "port",
    ...(existsSync("/proc/sys/net/core/somaxconn") ? ["backlog"] : []),
    "clock",
    "sandbox",
  ]);
  expect(report.checks.filter(({ status }) => status === "fail")).toEqual([]);
  expect(report.ok).toBe(true);
});

test("a small somaxconn is a warning that names it; a system without one is skipped", () => {
  expect(backlogCheck(() => "128\n")).toMatchObject([
    {
      status: "warn",
      detail: expect.stringContaining("128"),
      fix: expect.stringContaining("net.core.somaxconn"),
    },
  ]);
  expect(backlogCheck(() => "4096\n")).toMatchObject([{ status: "pass" }]);
  const absent = (): never => {
    throw new Error("ENOENT");
  };
  expect(backlogCheck(absent)).toEqual([]);
});

test("an engine that does not start is a failure; the other checks still run", async () => {
  const report = await examine(deps({ host: async () => ({ failure: "no library" }) }));
  expect(report.ok).toBe(false);
  expect(report.checks[0]).toMatchObject({
    name: "engine",
    status: "fail",
    detail: expect.stringContaining("no library"),
  });
  expect(report.checks.length).toBeGreaterThan(6);
});

test.if(process.arch === "x64")("a processor without AVX2 is a warning", () => {
  expect(cpuCheck(HOST).status).toBe("pass");
  expect(cpuCheck({ ...HOST, cpu_features: ["SSE3"] })).toMatchObject({
    status: "warn",
    fix: expect.any(String),
  });
  expect(cpuCheck({ ...HOST, cpu_features: [], cpu_variant: null }).status).toBe("pass");
});

test("a driver without a back end for it is a warning", () => {
  expect(acceleratorCheck(HOST, [])).toMatchObject({ status: "pass" });
  expect(acceleratorCheck(HOST, [{ maker: "NVIDIA", backend: "cuda" }])).toMatchObject({
    status: "warn",
    fix: "Install it: svc backend install cuda",
  });
  const failing = { ...HOST, backend_failures: ["back end cuda: libcuda.so.1 could not be loaded"] };
  expect(acceleratorCheck(failing, [])).toMatchObject({
    status: "warn",
    detail: expect.stringContaining("libcuda.so.1"),
  });
});

test("an image model is named as such", () => {
  const check = (isLoaded: boolean) =>
    modelCheck({ id: "m", source: { type: "image" }, isLoaded }, MEMORY).detail;
  expect(check(false)).toBe("an image model");
  expect(check(true)).toBe("an image model; loaded");
});

test("a graphics card is named", async () => {
  const gpu = {
    ...HOST.devices[0],
    name: "GPU0",
    description: "A card",
    type: "gpu",
  } as EngineHost["devices"][0];
  const { checks } = await examine(
    deps({ host: async () => ({ ...HOST, devices: [...HOST.devices, gpu] }) }),
  );
  expect(checks.find(({ name }) => name === "accelerator")?.detail).toBe(
    "0: A card (GPU0), 17.18 GB, 8.59 GB free; models on it: KV cache of f16 within 90 % of the free memory, at most 4 threads, micro-batches of 1024 (mixtures 2048) tokens, multi-step decode up to 1 ms, drafts of at most 8 tokens",
  );
});

describe("models", () => {
  const folder = tempDir();
  const broken = join(folder, "broken.gguf");
  writeFileSync(broken, readFileSync(TINY_FILE).subarray(0, 1_000_000));

  test("a broken file fails without naming its path", () => {
    const check = modelCheck({ id: "m", source: { type: "file", path: broken }, isLoaded: false }, MEMORY);
    expect(check).toMatchObject({ name: "model m", status: "fail" });
    expect(JSON.stringify(check)).not.toContain(folder);
  });

  test("a model larger than the memory is a warning, unless it is loaded", () => {
    const small = { ...MEMORY, availableBytes: 1000 };
    expect(
      modelCheck({ id: "m", source: { type: "file", path: TINY_FILE }, isLoaded: false }, small).status,
    ).toBe("warn");
    expect(
      modelCheck(
        { id: "m", source: { type: "file", path: TINY_FILE }, isLoaded: false },
        { ...MEMORY, limitBytes: 1000 },
      ).status,
    ).toBe("warn");
    expect(
      modelCheck({ id: "m", source: { type: "file", path: TINY_FILE }, isLoaded: true }, small).status,
    ).toBe("pass");
  });

  test("all parts of a split file are checked", () => {
    const first = join(folder, "big-00001-of-00002.gguf");
    copyFileSync(TINY_FILE, first);
    expect(
      modelCheck({ id: "m", source: { type: "file", path: first }, isLoaded: false }, MEMORY).status,
    ).toBe("fail");
    copyFileSync(TINY_FILE, join(folder, "big-00002-of-00002.gguf"));
    expect(
      modelCheck({ id: "m", source: { type: "file", path: first }, isLoaded: false }, MEMORY),
    ).toMatchObject({
      status: "pass",
      detail: expect.stringContaining("112 tensors"),
    });
  });

  test("models without a file on this machine", () => {
    expect(modelCheck({ id: "m", source: { type: "hub" }, isLoaded: false }, MEMORY).status).toBe("pass");
    const known = { id: "m", source: { type: "hub" }, isLoaded: false } as const;
    expect(modelCheck({ ...known, failure: "its template failed" }, MEMORY)).toMatchObject({
      status: "fail",
      detail: "its template failed",
    });
    expect(modelCheck({ ...known, leavesOut: ["results of calls"] }, MEMORY)).toMatchObject({
      status: "warn",
      detail: "its chat template leaves out: results of calls",
    });
    expect(modelCheck({ id: "m", source: { type: "built-in" }, isLoaded: false }, MEMORY).status).toBe(
      "pass",
    );
  });
});

test("an impossible cache folder", () => {
  const file = join(tempDir(), "file");
  writeFileSync(file, "");
  expect(cacheChecks(join(file, "below"))).toMatchObject([{ name: "cache", status: "fail" }]);
  expect(cacheChecks(join(tempDir(), "new")).map(({ name }) => name)).toEqual(["cache", "disk"]);
});

test("the port: free, in use, impossible, ours", async () => {
  const taken = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("") });
  const check = (hostname: string, port: number, isListening = false) =>
    portCheck({ hostname, port, isListening });
  try {
    expect((await check("127.0.0.1", 0)).status).toBe("pass");
    expect((await check("127.0.0.1", taken.port ?? 0)).status).toBe("warn");
    expect((await check("192.0.2.1", 0)).status).toBe("fail"); // an address of nobody
    expect((await check("127.0.0.1", taken.port ?? 0, true)).status).toBe("pass");
  } finally {
    await taken.stop(true);
  }
});

test("a clock in the past is a failure", () => {
  expect(clockCheck(new Date(0)).status).toBe("fail");
  expect(clockCheck(new Date("2030-01-01")).status).toBe("pass");
});

test("memory is read, also without system information", () => {
  expect(availableOf("MemTotal: 9 kB\nMemAvailable:     123 kB\n")).toBe(123 * 1024);
  expect(availableOf("")).toBeUndefined();
  const { totalBytes, availableBytes } = readMemory();
  expect(availableBytes).toBeWithin(1, totalBytes + 1);
});

test("the system information matches its schema, before and after an engine has started", async () => {
  const model = {
    id: "m",
    status: "loaded",
    architecture: "llama",
    size_bytes: 1,
    memory_bytes: null,
    resident_bytes: null,
    context_tokens: 2,
    kv_cells: 3,
    threads: 4,
    placement: null,
    device_fault: null,
  };
  for (const host of [undefined, HOST]) {
    const usersOf = () => [{ id: "m", memory_bytes: 7 }];
    const info = await describeSystem("strict", { host, models: [model], usersOf });
    expect([...Value.Errors(SystemInfo, info)]).toEqual([]);
    expect(info.devices.at(-1)).toMatchObject({ type: "cpu", models: [{ id: "m", memory_bytes: 7 }] });
    expect(info.devices.filter(({ type }) => type === "cpu")).toHaveLength(1);
  }
});

test("the table shows marks, fixes and a sum", () => {
  const table = doctorTable({
    ok: false,
    checks: [
      { name: "a", status: "pass", detail: "fine", fix: null },
      { name: "longer", status: "warn", detail: "hm", fix: "Do this." },
      { name: "b", status: "fail", detail: "bad", fix: "Do that." },
    ],
  });
  expect(table.split("\n")).toEqual([
    "ok    a       fine",
    "WARN  longer  hm",
    "              Do this.",
    "FAIL  b       bad",
    "              Do that.",
    "",
    "1 ok, 1 warnings, 1 failures",
  ]);
});
