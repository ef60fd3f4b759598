// Every route against bodies made from its own schema, right and nearly right, and against bytes that are nearly JSON. No
// answer is a failure of ours, every refusal is an error object, every stream ends. SVC_FUZZ_RUNS sets how many of each;
// SVC_SEED repeats a run.

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Generate } from "../../src/core/run.ts";
import { Metrics } from "../../src/metrics/metrics.ts";
import { chatBody, testApp } from "../helpers/app.ts";
import { seedOfRun } from "../helpers/seed.ts";
import { fromSchema } from "../helpers/from-schema.ts";
import { isOllama, JSON_OPERATIONS, OPERATIONS, pathOf } from "../helpers/operations.ts";
import { ACCEPTED, end, FINISH, text as said } from "../helpers/run-events.ts";
import { parseSse } from "../helpers/sse.ts";
import { within } from "../helpers/until.ts";

const RUNS = Number(process.env["SVC_FUZZ_RUNS"] ?? "150");
const SETTINGS = { numRuns: RUNS, seed: seedOfRun() };
const TIME_MS = 60_000 + RUNS * 100;

const JSON_TYPE = { "content-type": "application/json" };
/** What a server without models, adapters or room may say; all others would be our fault. */
const UNAVAILABLE = new Set([
  "model_unavailable",
  "metrics_unavailable",
  "lora_capacity_exceeded",
  "state_full",
]);

/** Answers "Hi" in every choice that is asked for. */
const generate: Generate = async function* (request) {
  yield ACCEPTED;
  for (let choice = 0; choice < request.choices; choice++) yield* [said("Hi", choice), end("stop", choice)];
  yield FINISH;
};

const { app, logged } = testApp(generate, { metrics: new Metrics() });

async function expectSoundAnswer(request: Request, what: string): Promise<number> {
  const response = await within(10_000, `${what} is answered`, app.handle(request));
  const text = await within(10_000, `${what} ends`, response.text());
  const type = response.headers.get("content-type") ?? "";
  if (type.startsWith("text/event-stream")) expect(parseSse(text).events.length, what).toBeGreaterThan(0);
  if (response.status < 400) return response.status;
  expect(type, what).toStartWith("application/json");
  const { error } = JSON.parse(text);
  if (isOllama(new URL(request.url).pathname)) {
    expect(error, what).toBeString();
    expect(response.status, `${what} → ${text}`).not.toBe(500);
    return response.status;
  }
  for (const field of [error.code, error.message, error.type]) expect(field, what).toBeString();
  expect(response.status < 500 || UNAVAILABLE.has(error.code), `${what} → ${text}`).toBe(true);
  return response.status;
}

describe.each(JSON_OPERATIONS)("$method $pattern", ({ json, ...operation }) => {
  const { method } = operation;
  const url = `http://localhost${pathOf(operation)}`;

  test(
    `${RUNS} bodies after its schema`,
    async () => {
      const statuses = new Map<number, number>();
      const property = fc.asyncProperty(fromSchema(json.schema), async (value) => {
        const body = JSON.stringify(value) ?? "null";
        const request = new Request(url, { method, headers: JSON_TYPE, body });
        const status = await expectSoundAnswer(request, body);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      });
      await fc.assert(property, SETTINGS);
      expect(statuses.get(500) ?? 0).toBe(0);
      expect(statuses.size).toBeGreaterThan(0);
    },
    TIME_MS,
  );

  test(
    `${RUNS} bodies of broken bytes`,
    async () => {
      const valid = Buffer.from(JSON.stringify(json.example));
      const piece = fc.oneof(
        fc.uint8Array({ maxLength: 6 }),
        fc.constantFrom(
          ...['"', "\\", "{", "[", "]}", "null,", "1e999", "\\ud800", "\uFEFF", "\0"].map((text) =>
            Buffer.from(text),
          ),
        ),
      );
      const edit = fc.record({ at: fc.nat(valid.length), drop: fc.nat(8), piece });
      const property = fc.asyncProperty(
        fc.array(edit, { maxLength: 3 }),
        fc.boolean(),
        async (edits, inChunks) => {
          let bytes = valid;
          for (const { at, drop, piece: inserted } of edits) {
            bytes = Buffer.concat([bytes.subarray(0, at), inserted, bytes.subarray(at + drop)]);
          }
          const body = inChunks ? new Blob([bytes]).stream() : bytes;
          await expectSoundAnswer(new Request(url, { method, headers: JSON_TYPE, body }), bytes.toString());
        },
      );
      await fc.assert(property, SETTINGS);
    },
    TIME_MS,
  );
});

test(
  "ids, queries and headers of every route",
  async () => {
    const word = fc.oneof(
      fc.string({ unit: "binary", maxLength: 40 }),
      fc.constantFrom("..", ".", "%00", "x".repeat(2000), "a/b", "?", "#"),
    );
    const header = fc.string({ maxLength: 60 });
    const property = fc.asyncProperty(
      fc.constantFrom(...OPERATIONS),
      word,
      word,
      header,
      async (operation, id, query, value) => {
        const { method } = operation;
        const path = pathOf(operation, encodeURIComponent(id.toWellFormed()));
        const url = `http://localhost${path}?model=${encodeURIComponent(query.toWellFormed())}&limit=${encodeURIComponent(query.toWellFormed())}`;
        const headers = {
          ...JSON_TYPE,
          accept: value,
          "x-request-id": value,
          "anthropic-version": value,
          authorization: value,
        };
        const body =
          method === "GET" || method === "HEAD" || method === "DELETE" ? null : JSON.stringify(chatBody());
        const request = new Request(url, { method, headers, body });
        if (!operation.pattern.includes("/docs")) await expectSoundAnswer(request, `${method} ${path}`);
      },
    );
    await fc.assert(property, { ...SETTINGS, numRuns: RUNS * 4 });
  },
  TIME_MS * 2,
);

test("nothing of all this was a bug of ours", () => expect(logged).toEqual([]));
