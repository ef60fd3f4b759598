import { expect, test } from "bun:test";
import type { LoadResult } from "../../bench/load.ts";
import { costTable, type Measurement, plainRows, remarks, type Row, table } from "../../bench/report.ts";

const LOAD: LoadResult = {
  seconds: 1,
  errors: 0,
  resets: 0,
  tokens: 128,
  promptTokens: 64,
  promptTokensPerSecond: 6400,
  warmupTokens: 16,
  tokensPerSecond: 100,
  answerTokensMin: 128,
  answerTokensMax: 128,
  ttftP50Ms: 10,
  ttftP95Ms: 20,
  itlP50Ms: 5,
  itlP95Ms: 6,
  itlEndMs: 5,
  clientCpuSeconds: 0.1,
};

function measured(changes: Partial<LoadResult>): Measurement {
  return {
    load: { ...LOAD, ...changes },
    memory: { rssBytes: 2 ** 28, pssBytes: 2 ** 27 },
    serverCpuSeconds: 1,
    otherProcessesShare: 0,
  };
}

function row(left: Measurement[], right: Measurement[]): Row {
  return { model: "nano", scenario: "decode", streams: 8, left, right };
}

test("a row shows medians, and the ratio of the pairs with its extremes", () => {
  const left = [200, 300, 100].map((tokensPerSecond) => measured({ tokensPerSecond }));
  const right = [100, 100, 100].map((tokensPerSecond) => measured({ tokensPerSecond }));
  const text = table([row(left, right)], "svc", "llama-server");
  expect(text).toContain("tokens/s svc / llama-server");
  expect(text).toContain(
    "| 200 / 100 | **2.00** (1.00..3.00) | 6400 / 6400 | 10.0 / 10.0 | **1.00** (1.00..1.00) |",
  );
  expect(text).toContain("| 256 / 256 |");
});

test("every line of the table has as many cells", () => {
  const lines = table([row([measured({})], [measured({})])], "a", "b").split("\n");
  expect(new Set(lines.map((line) => line.split("|").length)).size).toBe(1);
});

test("failed requests, retries and answers of unequal length are remarked", () => {
  expect(remarks([row([measured({})], [measured({})])], "a", "b")).toEqual([]);
  const found = remarks([row([measured({ errors: 2, tokens: 100 })], [measured({ resets: 1 })])], "a", "b");
  expect(found).toHaveLength(3);
  expect(found[0]).toContain("2 failed requests");
});

test("a measurement that other processes disturbed is remarked", () => {
  const disturbed = { ...measured({}), otherProcessesShare: 0.4 };
  expect(remarks([row([disturbed], [measured({})])], "a", "b").join()).toContain("up to 40 % of the machine");
});

test("a cost is what is measured with a feature over what is measured without, on each side", () => {
  const pair = (dear: number, plain: number) =>
    [measured({ itlEndMs: dear }), measured({ itlEndMs: plain, tokens: 64 })] as const;
  const costs = [
    {
      model: "nano",
      scenario: "long-answer",
      streams: 1,
      figure: "itlEndMs" as const,
      left: [pair(2, 2), pair(3, 2), pair(2.2, 2)],
      right: [pair(8, 2), pair(8, 2), pair(8, 2)],
    },
  ];
  const lines = costTable(costs, "svc", "llama-server").split("\n");
  expect(lines[0]).toContain("| svc with / without |");
  expect(lines[2]).toContain("| 2.20 / 2.00 | **1.10** (1.00..1.50) | 8.00 / 2.00 | **4.00** (4.00..4.00) |");
  expect(new Set(lines.map((line) => line.split("|").length)).size).toBe(1);
  const [dear, plain] = plainRows(costs);
  expect(dear?.left.map(({ load }) => load.itlEndMs)).toEqual([2, 3, 2.2]);
  expect(plain).toMatchObject({ scenario: "long-answer without", right: [{}, {}, {}] });
  expect(remarks(plainRows(costs), "a", "b")).toEqual([]);
});
