// A clock that is set: by hand, by the network's time, by a machine that wakes up. Waits, timeouts and measurements go by
// the monotonic clock; the other one only dates what people see, and how long stored things are kept.

import { afterEach, expect, setSystemTime, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { SERVER } from "../../src/core/caller.ts";
import type { ObservedRequest } from "../../src/core/telemetry.ts";
import { chatBody, testApp, testStores } from "../helpers/app.ts";
import { answer, playing } from "../helpers/run-events.ts";

afterEach(() => setSystemTime());

const FUTURE = new Date("2099-01-01");
const PAST = new Date("1999-01-01");

/** Who may ask what time it is, and what for. */
const DATES: Readonly<Record<string, string>> = {
  "access/quotas.ts": "when limits are reset, for people",
  "access/usage-book.ts": "days of usage",
  "agent/keep-file.ts": "`created_at` of files",
  "app/edge.ts": "the end of a day, for budgets",
  "app/live-settings.ts": "stamps of the access log",
  "app/server.ts": "stamps of responses",
  "app/system.ts": "the doctor looks whether the clock is set",
  "cli/cache-table.ts": "dates of downloads",
  "cli/keys-args.ts": "the day on which a key expires",
  "commands/keys.ts": "`created` of keys",
  "core/block-folder.ts": "age of an unfinished file, which another process may have written",
  "core/time.ts": "writes times",
  "engine/models.ts": "`created` of models",
  "files/store.ts": "`created_at` of files",
  "http/answer.ts": "`created` of answers",
  "http/api-keys.ts": "whether a key has expired",
  "http/payloads.ts": "times of what is recorded",
  "http/routes/images.ts": "`created` of pictures",
  "http/routes/ollama-models.ts": "`expires_at` of loaded models",
  "http/routes/ollama.ts": "`created_at` of answers",
  "http/routes/responses.ts": "`created_at` of responses",
  "http/routes/usage.ts": "days of usage",
  "hub/api.ts": "a Retry-After header that names a date",
  "hub/lock.ts": "age of a lock file, which another process has stamped",
  "hub/pulls.ts": "`created` of downloads",
  "hub/records.ts": "shows other processes a change, by the time of a folder",
  "images/folder.ts": "age of pictures that are kept, over restarts",
  "metrics/day.ts": "times of samples and log lines",
  "metrics/metrics.ts": "start time of the process",
  "reader/documents/sheets.ts": "dates in cells",
  "skills/store.ts": "`created_at` of skills",
  "state/memory.ts": "age of what is kept",
  "state/sqlite.ts": "age of what is kept, over restarts",
  "upstream/health.ts": "time of the last failure, for people",
  "worker/text/tiers/disk-tier.ts": "last use of blocks, over restarts",
};

test("nothing waits or measures by the clock that can be set", () => {
  const root = join(import.meta.dir, "../../src");
  const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".ts"),
  );
  const asking = files.filter((file) =>
    /\bDate\.now\b|\bnew Date\(/.test(readFileSync(join(root, file), "utf8")),
  );
  expect(files.length).toBeGreaterThan(200);
  expect(asking.toSorted()).toEqual(Object.keys(DATES).toSorted());
});

test("requests are answered and measured while the clock jumps", async () => {
  const seen: ObservedRequest[] = [];
  const run = answer("Hi");
  const jumps = [FUTURE, PAST];
  const { generate } = playing(run);
  const app = testApp(
    async function* jumping(...args) {
      for await (const event of generate(...args)) {
        setSystemTime(jumps[seen.length % jumps.length]);
        yield event;
      }
    },
    { accessLog: (request) => seen.push(request) },
  );
  for (let i = 0; i < 4; i++) {
    const response = await app.post("/v1/chat/completions", chatBody({ stream: i % 2 === 0 }));
    expect(await response.text()).toContain("Hi");
  }
  expect(seen).toHaveLength(4);
  for (const { seconds } of seen) expect(seconds).toBeWithin(0, 60);
});

test("what is kept for a while is gone after a jump ahead, and stays after one back", async () => {
  const files = testStores().files(SERVER);
  const store = () =>
    files.add({ name: "a.txt", purpose: "user_data", source: { tool: "upload", round: 0, turn: 0 } }, [
      new Uint8Array([1]),
    ]);
  const ahead = await store();
  setSystemTime(FUTURE);
  expect(files.get(ahead.id)).toBeUndefined();
  const back = await store();
  setSystemTime(PAST);
  expect(files.get(back.id)).toBeDefined();
});
