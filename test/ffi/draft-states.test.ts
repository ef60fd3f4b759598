// Models with recurrent layers go back to the state before rejected drafts, whatever sequences a pass computes in whatever order, as
// long as their drafts keep the limits of the backend. SVC_SLOW_TESTS=1 takes all architectures that can go back.

import { describe, expect, test } from "bun:test";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import type { Speculative, TextOptions } from "../../src/engine/protocol.ts";
import type { SlotId } from "../../src/worker/text/backend.ts";
import { bestLevel } from "../../src/worker/text/decode/draft-level.ts";
import { architectureModel } from "../helpers/architecture-models.ts";
import type { Below } from "../helpers/mixes.ts";
import { tinyBackend, TINY_PATH } from "../helpers/native.ts";
import { tinyHybrid } from "../helpers/tiny-heads.ts";
import { random } from "../helpers/world.ts";

const SLOTS = 8;
const DRAFT_MAX = 3;
const TOKENS_MAX = 16;
/** Of a log probability; a wrong state is off by many times more. */
const ROUNDING = 0.02;
const SLOW = process.env.SVC_SLOW_TESTS === "1";
const STEPS = SLOW ? 100 : 30;

const HEAD: Speculative = { type: "mtp", mtpDraftSampling: "greedy", mtpNPredict: DRAFT_MAX };
const BESIDE: Speculative = { ...HEAD, mtpModel: TINY_PATH };
const ARCHITECTURES = [
  "bailingmoe3",
  "deepseek4",
  "kimi-k3",
  "lfm2",
  "lfm2moe",
  "nemotron_h",
  "nemotron_h_moe",
  "qwen35",
  "qwen35moe",
  "qwen4exp",
];

const SMALL = { ubatch: 8, prefixCacheN: 4 } as const;
const APART = { pagedAttn: false } as const;
type Case = readonly [title: string, file: () => string, options: Partial<TextOptions>];
const headed = (): string => tinyHybrid({ silent: false, head: true });
const CASES: readonly Case[] = [
  ["a head, in small micro-batches", headed, { speculative: HEAD, ...SMALL }],
  ["a head, with memories of their own", headed, { speculative: HEAD, ...APART }],
  ...(SLOW ? ARCHITECTURES : []).flatMap((name): Case[] => [
    [`${name}, in small micro-batches`, () => architectureModel(name), { speculative: BESIDE, ...SMALL }],
    [`${name}, with memories of their own`, () => architectureModel(name), { speculative: BESIDE, ...APART }],
  ]),
];

interface Row {
  readonly slot: number;
  readonly token: number;
  readonly position: number;
}

function decode(backend: LlamaBackend, rows: readonly Row[]): void {
  const column = (key: keyof Row): Int32Array => Int32Array.from(rows, (row) => row[key]);
  const columns = { token: column("token"), position: column("position"), slot: column("slot") };
  const output = new Int8Array(rows.length).fill(1);
  expect(backend.decode({ ...columns, output }, rows.length)).toBe("done");
}

/** Some slots in any order, and so many draft tokens after the next one of each. */
function planOf({ draftModel }: LlamaBackend, below: Below): { slot: number; drafted: number }[] {
  const order = Array.from({ length: SLOTS }, (_, slot) => ({ slot, at: below(1000) }));
  const slots = order.filter(() => below(4) > 0).toSorted((a, b) => a.at - b.at);
  const wanted = slots.map(() => (below(4) === 0 ? 0 : 1 + below(DRAFT_MAX)));
  const chances = wanted.map((length) => Array.from({ length }, (_, i) => 0.8 ** (i + 1)));
  const limits = draftModel?.level;
  const costs = { filledRows: below(2) * 100, partMs: 1, rowMs: 0.1 };
  const level = limits && bestLevel(chances, { ...limits, ...costs });
  const plan = slots.map(({ slot }, i) => ({
    slot,
    drafted: Math.max(level?.filled ?? 0, (level?.lengths ?? wanted)[i] ?? 0),
  }));
  return limits === undefined ? plan : plan.toSorted((a, b) => a.drafted - b.drafted);
}

/** How far the likeliest tokens after some are from what a backend without drafts says. */
function distance(
  plain: LlamaBackend,
  tokens: readonly number[],
  backend: LlamaBackend,
  row: number,
): number {
  plain.cutSlot(0 as SlotId, 0);
  decode(
    plain,
    tokens.map((token, position) => ({ slot: 0, token, position })),
  );
  const got = new Map(backend.logprobs(row, 0, 8).top.map(({ token, logprob }) => [token, logprob]));
  const { top } = plain.logprobs(tokens.length - 1, 0, 3);
  return Math.max(...top.map(({ token, logprob }) => Math.abs(logprob - (got.get(token) ?? Infinity))));
}

describe.each(CASES)("%s", (_title, file, options) => {
  test("rejected drafts leave no trace", async () => {
    const path = file();
    const shared = { threads: 1, maxSeqs: SLOTS, contextLen: SLOTS * 64, batch: SLOTS * (1 + DRAFT_MAX) };
    const backend = await tinyBackend({ ...shared, ...options }, path);
    const plain = await tinyBackend({ threads: 1, maxSeqs: 1, contextLen: 64 }, path);
    const chance = random(3);
    const below: Below = (n) => Math.floor(chance() * n);
    const known: number[][] = Array.from({ length: SLOTS }, () => []);
    let worst = 0;
    let rejected = 0;
    for (let step = 0; step < STEPS; step++) {
      const rows: Row[] = [];
      const passed = planOf(backend, below).map(({ slot, drafted }) => {
        const before = known[slot] ?? [];
        const tokens = Array.from({ length: 1 + drafted }, () => 3 + below(2000));
        const first = rows.length;
        rows.push(...tokens.map((token, i) => ({ slot, token, position: before.length + i })));
        return { slot, drafted, first, before, tokens };
      });
      if (rows.length > 0) decode(backend, rows);
      for (const { slot, drafted, first, before, tokens } of passed) {
        const accepted = below(drafted + 1);
        const now = [...before, ...tokens.slice(0, 1 + accepted)];
        worst = Math.max(worst, distance(plain, now, backend, first + accepted));
        const kept = now.length > TOKENS_MAX ? [] : now;
        if (kept.length < before.length + tokens.length)
          expect(backend.cutSlot(slot as SlotId, kept.length)).toBe(true);
        rejected += drafted - accepted;
        known[slot] = kept;
      }
    }
    expect(worst).toBeLessThan(ROUNDING);
    expect(rejected).toBeGreaterThan(STEPS / 4);
    backend.close();
    plain.close();
  });
});
