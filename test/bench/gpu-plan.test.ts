import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sizeOf } from "../../bench/gpu-model.ts";
import { cardOf, decodeBound, fittingCells, memoryOf, planOf, secondsOf } from "../../bench/gpu-plan.ts";
import { Run } from "../../bench/gpu-run.ts";

const ROOT = join(import.meta.dir, "../..");

test("both servers of a model follow each other, curves come last, and cells begin with one stream", () => {
  const plan = planOf(["8b", "0.6b"], true, false);
  expect(plan.slice(0, 6).map(({ model, side, flags }) => [model, side, ...flags])).toEqual([
    ["8b", "svc"],
    ["8b", "llama-server"],
    ["8b", "svc", "--paged-attn", "off"],
    ["8b", "svc", "--paged-attn", "off"],
    ["0.6b", "svc"],
    ["0.6b", "llama-server"],
  ]);
  const curves = plan.slice(6).map(({ model, flags }) => [model, ...flags].join(" "));
  expect(curves).toEqual([
    "8b --ubatch 512 --batch 2048",
    "8b --ubatch 2048 --batch 2048",
    "8b --ubatch 4096 --batch 4096",
    ...[1, 4, 8, 16].map((tokens) => `0.6b --speculative mtp --mtp-n-predict ${tokens}`),
    "8b --speculative ngram",
  ]);
  expect(plan[0]?.cells[0]).toEqual({ streams: 1, promptTokens: 512 });
  expect(planOf(["8b"], false, false).every(({ side }) => side === "svc")).toBe(true);
});

test("a card's bound is its memory for a stream, and grows with streams until the products bound it", () => {
  const card = cardOf("cuda: CUDA0: NVIDIA H200, 141 GB");
  expect(cardOf("Vulkan0: llvmpipe")).toBeUndefined();
  if (card === undefined) throw new Error("an H200 is listed");
  const size = sizeOf("8b", 4.9e9);
  expect(size.activeParams).toBeGreaterThan(5e9);
  const [one, many] = [1, 64].map((streams) => decodeBound(card, size, { streams, promptTokens: 0 }));
  expect(one).toBeCloseTo(card.memory / 4.9e9, 0);
  expect(many).toBeCloseTo(64 * (one ?? 0), 0);
  const mixture = sizeOf("30b-a3b", 18e9);
  expect(mixture.activeBytes).toBeLessThan(0.15 * 18e9);
});

test("cells that a card cannot hold are left out", () => {
  const memory = memoryOf("cuda: CUDA0: NVIDIA RTX 4090, 25.4 GB") ?? 0;
  expect([memory, memoryOf("without a device")]).toEqual([25.4e9, undefined]);
  const cells = [1, 8, 64].map((streams) => ({ streams, promptTokens: 6144 }));
  const fitting = (bytes: number) => fittingCells(cells, sizeOf("8b", 4.9e9), { memory: bytes, margin: 500 });
  expect(fitting(memory)).toEqual(cells.slice(0, 2));
  expect(fitting(141e9)).toEqual(cells);
  expect(fitting(4e9)).toEqual([]);
});

test("a run goes on where one with the same executable and devices ended; a failed step is tried again", async () => {
  const folder = mkdtempSync(join(tmpdir(), "svc-gpu-"));
  const begin = (of = "one"): Run => new Run(of, "a card", { folder, endMs: performance.now() + 60_000 });
  const cell = { model: "tiny", side: "svc", streams: 1, promptTokens: 64 } as const;
  const first = begin();
  await first.step("answers", async () => ["All equal."]);
  await first.step("group", async () => {
    first.add({
      ...cell,
      tokensPerSecond: 7,
      promptTokensPerSecond: 8,
      ttftMs: 9,
      bound: undefined,
      placement: "",
    });
    throw new Error("the device is lost\nat a line");
  });
  expect(readFileSync(join(folder, "gpu.md"), "utf8")).toContain("FAILED: group: the device is lost.");
  const second = begin();
  let done = 0;
  await second.step("answers", async () => [`again ${done++}`]);
  await second.step("group", async () => [`again ${done++}`]);
  expect([second.has(cell), second.has({ ...cell, streams: 2 }), done]).toEqual([true, false, 1]);
  expect(second.table()).toContain("All equal.");
  expect(second.table()).not.toContain("FAILED");
  expect(begin("another").has(cell)).toBe(false);
  const document = join(folder, "page.md");
  writeFileSync(document, "# A page\n\n## On a graphics card\n\nText.\n");
  const writing = new Run("one", "a card", { folder, document, endMs: performance.now() + 60_000 });
  writing.add({
    ...cell,
    streams: 2,
    tokensPerSecond: 7,
    promptTokensPerSecond: 8,
    ttftMs: 9,
    bound: undefined,
    placement: "",
  });
  expect(readFileSync(document, "utf8")).toContain("| `tiny` | 2 × 64 | svc |"); // before the run ends
  writeFileSync(join(folder, "gpu.json"), '{"of": "one", "ro');
  expect(begin().has(cell)).toBe(false); // what was written in part is begun again
  rmSync(folder, { recursive: true });
});

test("a cell with long prompts of many streams takes longer than one without", () => {
  const pace = { prompt: 1000, decode: 100 };
  expect(secondsOf({ streams: 8, promptTokens: 1000 }, 50, pace)).toBe(24);
});

test.skipIf(process.env["SVC_SLOW_TESTS"] !== "1")(
  "a dry run installs nothing, measures toys, ends in time and writes its table into a document",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "svc-gpu-"));
    const document = join(folder, "page.md");
    writeFileSync(document, "# A page\n\n## On a graphics card\n\nText.\n");
    const run = async (): Promise<number> => {
      const words = [
        "--minutes",
        "15", // a bound: it ends with its last cell
        "--dry-run",
        "--write",
        document,
        "--results",
        join(folder, "results"),
      ];
      const env = { ...process.env, XDG_CACHE_HOME: folder, NODE_ENV: "" }; // its children are no test runners
      return Bun.spawn([join(ROOT, "bench/gpu.sh"), ...words], { env, stdio: ["ignore", 2, 2] }).exited;
    };
    expect(await run()).toBe(0);
    const once = readFileSync(document, "utf8");
    expect(once).toContain("| `tiny` | 1 × 64 | svc |");
    expect(once).toContain("Of 2 architectures 2 were compared with the CPU, 2 agree.");
    expect(once).toContain("Answers from lists and from whole rows are equal.");
    expect(await run()).toBe(0);
    expect(readFileSync(document, "utf8").match(/written by bench/g)).toHaveLength(1);
    rmSync(folder, { recursive: true });
  },
  900_000,
);
