// Grammars of tool calls that are compiled while their prompts are computed.

import { afterAll, beforeAll, expect, test } from "bun:test";
import type { GrammarEngine } from "../../ffi/llama/grammar.ts";
import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import { ServiceError } from "../../src/core/error.ts";
import type { ToolSpec } from "../../src/core/message.ts";
import type { RunEvent, RunRequest } from "../../src/core/run.ts";
import type { ConstraintBackend, Mask, PendingGrammar } from "../../src/worker/text/constraint-backend.ts";
import { Engine, type StepOutcome } from "../../src/worker/text/engine.ts";
import { chatRequest, run } from "../helpers/engine-run.ts";
import { grammars, tinyBackend } from "../helpers/native.ts";

let backend: LlamaBackend;
let engine: GrammarEngine;
beforeAll(async () => {
  backend = await tinyBackend();
  engine = grammars(backend);
});
afterAll(() => {
  engine.close();
  backend.close();
});

const WEATHER: ToolSpec = {
  name: "get_weather",
  description: "Get the weather of a city",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  strict: true,
};

function asking(tool: ToolSpec, extra: Partial<RunRequest> = {}): RunRequest {
  const base = chatRequest("What is the weather in Paris?", extra);
  if (base.prompt.type !== "chat") throw new Error("a chat request has a chat prompt");
  return { ...base, prompt: { ...base.prompt, tools: [tool], toolChoice: { type: "auto" } } };
}

/** An engine whose grammars are compiled when the test says so. */
class Bench implements ConstraintBackend {
  readonly events: RunEvent[][] = [[], []];
  isReleased = false;
  failure: ServiceError | undefined;
  freed = 0;
  readonly engine = new Engine({
    backend,
    constraints: () => this,
    prefixCacheN: 0,
    emit: (id, event) => this.events[id]?.push(event),
    now: () => performance.now(),
    newSeed: () => 1,
  });

  newMask(): Mask {
    return engine.newMask();
  }

  compile(...asked: Parameters<ConstraintBackend["compile"]>): PendingGrammar {
    const pending = engine.compile(...asked);
    return {
      take: (waitMs) => {
        if (!this.isReleased) return undefined;
        if (this.failure === undefined) return pending.take(waitMs);
        pending.free();
        throw this.failure;
      },
      free: () => {
        this.freed++;
        pending.free();
      },
    };
  }

  masksBegin(...batch: Parameters<ConstraintBackend["masksBegin"]>): void {
    engine.masksBegin(...batch);
  }

  masksWait(): ReturnType<ConstraintBackend["masksWait"]> {
    return engine.masksWait();
  }

  /** Steps until an outcome other than "worked", or a run ends. */
  step(until: (outcome: StepOutcome) => boolean): void {
    while (!until(this.engine.step(1)));
  }

  hasBegun(id: number): boolean {
    return this.events[id]?.some(({ type }) => type === "accepted") ?? false;
  }

  /** Steps until a run has been accepted and only its grammar is missing. */
  await(id: number): void {
    this.step((outcome) => outcome === "rendering" && this.hasBegun(id));
  }

  types(id: number): readonly string[] {
    return (this.events[id] ?? []).map(({ type }) => type);
  }
}

function argumentsOf(events: readonly RunEvent[]): string {
  return events.map((event) => (event.type === "tool_call_args" ? event.delta : "")).join("");
}

test("a run is accepted before its grammar is compiled, waits for it, and holds up no other", () => {
  const bench = new Bench();
  bench.engine.add(0, asking(WEATHER));
  bench.await(0);
  expect(bench.types(0)).not.toContain("finish");
  bench.engine.add(1, chatRequest("Hello"));
  bench.step(() => bench.types(1).includes("finish"));
  expect(bench.types(0)).not.toContain("finish");
  bench.isReleased = true;
  bench.step((outcome) => outcome === "idle");
  expect(bench.types(0).at(-1)).toBe("finish");
  expect(argumentsOf(bench.events[0] ?? [])).toBe(run(backend, asking(WEATHER)).calls[0]?.args ?? "");
  expect(bench.freed).toBe(0);
});

test("a grammar that does not compile after all ends the run with its error", () => {
  const bench = new Bench();
  bench.engine.add(0, asking(WEATHER));
  bench.await(0);
  bench.failure = new ServiceError("invalid_request", "tools cannot be enforced: too large", {
    param: "tools",
  });
  bench.isReleased = true;
  bench.step((outcome) => outcome === "idle");
  const failed = bench.events[0]?.at(-1);
  expect(failed).toMatchObject({ type: "error", error: { code: "invalid_request", param: "tools" } });
  expect(bench.engine.runningCount).toBe(0);
});

test("an aborted run drops its grammar, and one that ends with the first token likewise", () => {
  const bench = new Bench();
  bench.engine.add(0, asking(WEATHER));
  bench.await(0);
  bench.engine.abort(0);
  expect(bench.engine.step(1)).toBe("idle");
  expect(bench.freed).toBe(1);
  bench.engine.add(1, asking(WEATHER, { maxTokens: 1 }));
  bench.step((outcome) => outcome === "idle");
  expect(bench.types(1).at(-1)).toBe("finish");
  expect(bench.freed).toBe(2);
});

test.each<[string, RunRequest]>([
  [
    "a schema that may not compile",
    asking({ ...WEATHER, parameters: { type: "object", properties: { odd: { pattern: "a" } } } }),
  ],
  ["several choices", asking(WEATHER, { choices: 2 })],
])("a run with %s is accepted with its grammar", (_, request) => {
  const bench = new Bench();
  bench.engine.add(0, request);
  let steps = 0;
  bench.step((outcome) => outcome === "rendering" && ++steps > 20);
  expect(bench.hasBegun(0)).toBe(false);
  bench.isReleased = true;
  bench.step((outcome) => outcome === "idle");
  expect(bench.types(0).at(-1)).toBe("finish");
});
