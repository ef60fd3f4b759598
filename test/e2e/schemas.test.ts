// The whole collection of schemas as response_format, through the compiled executable: what ends follows its schema, and
// nearly all do end. One seed; all five with SVC_SLOW_TESTS=1.

import { expect, test } from "bun:test";
import { validator } from "../helpers/ajv.ts";
import { fileServer } from "../helpers/binary.ts";
import { complete } from "../helpers/chat-client.ts";
import { valueOf } from "../helpers/prometheus.ts";
import { SCHEMAS } from "../helpers/schemas.ts";
import { until } from "../helpers/until.ts";

const SEEDS = process.env["SVC_SLOW_TESTS"] === "1" ? [1, 2, 3, 4, 5] : [1];
/** Requests under way at once: more than the engine runs, so that some always wait. */
const AT_ONCE = 48;
/** The longest answers that end have half as many. */
const MAX_TOKENS = 1000;
/** So small a model repeats itself without end where a schema lets it; this makes it tire of that. */
const FREQUENCY_PENALTY = 0.8;
/** Of the answers, how many must have ended by themselves. */
const FINISHED_SHARE = 0.95;

const server = fileServer(["--speculative", "grammar"]);

interface Case {
  readonly name: string;
  readonly schema: unknown;
  readonly seed: number;
}

/** What is wrong with the answer, "" if nothing; undefined when it was cut off. */
async function verdict({ name, schema, seed }: Case): Promise<string | undefined> {
  const { choices } = await complete(server().url, {
    messages: [{ role: "user", content: "Give me an example." }],
    response_format: { type: "json_schema", json_schema: { name: "example", schema } },
    temperature: 1,
    seed,
    frequency_penalty: FREQUENCY_PENALTY,
    max_tokens: MAX_TOKENS,
    enable_thinking: false,
  });
  const [choice] = choices;
  if (choice?.finish_reason === "length") return undefined;
  expect(choice?.finish_reason).toBe("stop");
  return validator(name, schema)(JSON.parse(choice?.message.content ?? ""));
}

/** Runs all, so many at once; results in the order of the items. */
async function concurrently<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const queue = items.entries();
  const worker = async (): Promise<void> => {
    for (const [index, item] of queue) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return results;
}

test("answers follow their schemas at temperature 1, and nearly all end", async () => {
  const cases = Object.entries(SCHEMAS).flatMap(([name, schema]) =>
    SEEDS.map((seed) => ({ name, schema, seed })),
  );
  expect(cases.length).toBeGreaterThanOrEqual(60 * SEEDS.length);
  const verdicts = await concurrently(cases, verdict);
  const wrong = cases.flatMap(({ name, seed }, i) => {
    const said = verdicts[i] ?? "";
    return said === "" ? [] : [`${name}, seed ${seed}: ${said}`];
  });
  expect(wrong).toEqual([]);
  const finished = verdicts.filter((said) => said !== undefined).length;
  console.log(`${finished} of ${cases.length} answers ended and follow their schemas`);
  expect(finished).toBeGreaterThanOrEqual(cases.length * FINISHED_SHARE);
}, 600_000);

test("what a schema dictates is drafted", async () => {
  const properties = Object.fromEntries(
    ["identification", "delivery_address", "preferred_language"].map((name) => [name, { type: "boolean" }]),
  );
  const schema = {
    type: "object",
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  };
  await until("an accepted draft", async () => {
    await complete(server().url, {
      messages: [{ role: "user", content: "Give me an example." }],
      response_format: { type: "json_schema", json_schema: { name: "example", schema } },
      temperature: 0,
      enable_thinking: false,
    });
    const metrics = await (await fetch(`${server().engineUrl}/metrics`)).text();
    return (valueOf(metrics, "svc_draft_hits_total") ?? 0) > 0;
  });
});
