// A model on upstreams of a test, and requests to it.

import { onTestFinished } from "bun:test";
import type { RunEvent, RunRequest } from "../../src/core/run.ts";
import { DEFAULT_SAMPLING } from "../../src/core/sampling.ts";
import { Connections } from "../../src/upstream/connections.ts";
import { UpstreamModel } from "../../src/upstream/model.ts";
import type { UpstreamModelOptions, UpstreamOptions } from "../../src/upstream/options.ts";
import type { FakeUpstream } from "./fake-upstream.ts";

/** Signal of a client that stays. */
export const NEVER = new AbortController().signal;

type Overrides = Partial<Omit<UpstreamModelOptions, "routing" | "upstreams">> & {
  readonly routing?: Partial<UpstreamModelOptions["routing"]>;
  readonly each?: Partial<UpstreamOptions>;
};

/** A model on these upstreams, with a log. */
export function modelOn(upstreams: readonly Pick<FakeUpstream, "url">[], overrides: Overrides = {}) {
  const { routing, each, ...others } = overrides;
  const log: string[] = [];
  const model = new UpstreamModel({
    name: "big",
    kind: "text",
    upstreams: upstreams.map(({ url }) => ({ url, model: "m", weight: 1, ...each })),
    routing: {
      policy: "round_robin",
      firstTokenMs: 5000,
      retries: 2,
      cooldownMs: 60_000,
      queueMax: 16,
      ...routing,
    },
    connections: new Connections(200),
    fallbacks: () => [],
    log: (line) => void log.push(line),
    ...others,
  });
  onTestFinished(() => model.stop());
  return { model, log };
}

/** A plain request. */
export function chat(extra: Partial<RunRequest> = {}): RunRequest {
  return {
    model: "big",
    prompt: {
      type: "chat",
      messages: [{ role: "user", content: [{ type: "text", text: "Hello?" }] }],
      tools: [],
      toolChoice: { type: "auto" },
      thinking: { enabled: true, unsaid: true },
    },
    sampling: DEFAULT_SAMPLING,
    stop: [],
    choices: 1,
    truncate: false,
    ...extra,
  };
}

/** All events of a run. */
export async function all(events: AsyncIterable<RunEvent>): Promise<readonly RunEvent[]> {
  return Array.fromAsync(events);
}

/** The text of an answer. */
export function textOf(events: readonly RunEvent[]): string {
  return events.map((event) => (event.type === "text" ? event.text : "")).join("");
}

/** The error that ended a run. */
export function errorOf(events: readonly RunEvent[]) {
  const last = events.at(-1);
  return last?.type === "error" ? last.error : undefined;
}
