// Where the executable is started from, what it unpacks, and how long it takes to be there.

import { expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { launchServer, newFolder, runBinary, startServer } from "../helpers/binary.ts";
import { ask, CAPITAL, completeText } from "../helpers/chat-client.ts";
import { allowedCpus, canAskForSlices, LONGEST_SLICE_MS, sliceMs } from "../helpers/time-slice.ts";
import { until } from "../helpers/until.ts";

test("a hostile working directory: bunfig.toml and .env are not read", async () => {
  const cwd = newFolder();
  const marker = join(cwd, "was-run");
  writeFileSync(join(cwd, "evil.ts"), `require("node:fs").writeFileSync(${JSON.stringify(marker)}, "");\n`);
  writeFileSync(join(cwd, "bunfig.toml"), 'preload = ["./evil.ts"]\n[run]\npreload = ["./evil.ts"]\n');
  const names = [
    "SVC_PORT=1",
    "SVC_HOST=999.999.999.999",
    "SVC_MAX_SEQS=none",
    "BUN_OPTIONS=--preload=./evil.ts",
  ];
  for (const file of [".env", ".env.local", ".env.production", ".env.development"])
    writeFileSync(join(cwd, file), names.join("\n"));
  writeFileSync(join(cwd, "package.json"), '{ "type": "commonjs", "imports": { "#x": "./evil.ts" } }');
  writeFileSync(join(cwd, "tsconfig.json"), '{ "compilerOptions": { "paths": { "*": ["./evil.ts"] } } }');

  const server = await startServer([], { cwd }); // listens where it was told, on 127.0.0.1
  expect(await completeText(server.url, ask(CAPITAL))).toBe(CAPITAL.answer);
  const shown = await runBinary(["config", "show"], { cwd });
  expect(shown.exit).toBe(0);
  expect(shown.out).not.toContain("999.999");
  expect(existsSync(marker)).toBe(false);
});

/** Milliseconds from the start to the first /health and to the first answer. */
async function startUp(cache: string): Promise<{ readonly healthMs: number; readonly answerMs: number }> {
  const startMs = performance.now();
  const server = await launchServer([], { cache });
  const healthMs = Math.round(performance.now() - startMs);
  try {
    expect(await completeText(server.url, ask(CAPITAL))).toBe(CAPITAL.answer);
    return { healthMs, answerMs: Math.round(performance.now() - startMs) };
  } finally {
    await server.stop();
  }
}

test("starts with an empty cache and with a full one", async () => {
  const cache = newFolder();
  const empty = await startUp(cache);
  const full = await startUp(cache);
  console.log(
    `start-up, empty cache: /health after ${empty.healthMs} ms, an answer after ${empty.answerMs} ms; ` +
      `full cache: ${full.healthMs} ms, ${full.answerMs} ms`,
  );
});

/** All files below a folder, relative to it. */
function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}

test("two servers that start at the same moment with one empty cache both come up", async () => {
  const cache = newFolder();
  const servers = await Promise.all([startServer([], { cache }), startServer([], { cache })]);
  const answers = await Promise.all(servers.map(({ url }) => completeText(url, ask(CAPITAL))));
  expect(answers).toEqual([CAPITAL.answer, CAPITAL.answer]);
  expect(filesIn(cache).filter((file) => /(^|\/)\./.test(file))).toEqual([]); // nothing half written is left
});

test("unpacked files are private, checked and repaired", async () => {
  const cache = newFolder();
  await startUp(cache);
  const files = filesIn(cache);
  expect(files.length).toBeGreaterThan(5);
  for (const file of files) expect(statSync(join(cache, file)).mode & 0o077).toBe(0);
  const library = files.find((file) => file.endsWith("libsvc_llama.so"));
  const other = files.find((file) => file.endsWith("libllama.so.0"));
  const model = files.find((file) => file.endsWith(".gguf"));
  if (library === undefined || other === undefined || model === undefined)
    throw new Error(`unpacked were only ${files.join(", ")}`);
  const original = readFileSync(join(cache, library));
  truncateSync(join(cache, library), 1000);
  rmSync(join(cache, other));
  truncateSync(join(cache, model), 0);
  await startUp(cache);
  expect(readFileSync(join(cache, library)).equals(original)).toBe(true);
  expect(filesIn(cache)).toEqual(files);
});

test("a cache folder that cannot be made: one line with the reason, 1", async () => {
  const cache = join(newFolder(), "file");
  writeFileSync(cache, "");
  const { exit, err } = await runBinary(["serve", "--port", "0"], { cache });
  expect(exit).toBe(1);
  expect(err.split("\n").filter((line) => line.startsWith("svc: "))).toHaveLength(1);
});

test("a home that cannot be written to: what is unpacked lies in the temporary folder", async () => {
  const TMPDIR = newFolder();
  const env = { HOME: "/dev/null", XDG_CACHE_HOME: "", TMPDIR };
  const server = await startServer([], { env });
  expect(await completeText(server.url, ask(CAPITAL))).toBe(CAPITAL.answer);
  const own = join(TMPDIR, `svc-cache-${process.getuid?.()}`);
  expect(statSync(own).mode & 0o077).toBe(0);
  expect(filesIn(own)).not.toEqual([]);
});

test("a temporary cache that another user could write to is refused", async () => {
  const TMPDIR = newFolder();
  const prepared = join(TMPDIR, `svc-cache-${process.getuid?.()}`);
  mkdirSync(prepared);
  chmodSync(prepared, 0o777);
  const env = { HOME: "/dev/null", XDG_CACHE_HOME: "", TMPDIR };
  const { exit, err } = await runBinary(["serve", "--port", "0"], { env });
  expect(exit).toBe(1);
  expect(err).toContain("must be a folder that only its owner, the user running svc, can write to");
});

test("without a KV cache, and with the smallest: the same answer", async () => {
  for (const args of [["--no-kv-cache"], ["--pa-memory-fraction", "0"]]) {
    const server = await startServer(args);
    expect(await completeText(server.url, ask(CAPITAL))).toBe(CAPITAL.answer);
  }
});

const CPUS = allowedCpus();

test.skipIf(CPUS < 2 || !canAskForSlices())(
  "compute threads that keep all CPUs busy have one each and give way to others",
  async () => {
    const server = await startServer(["--threads", String(CPUS)]);
    expect(await completeText(server.url, ask(CAPITAL))).toBe(CAPITAL.answer); // by then it is loaded
    const engine = server.enginePid();
    const computing = (): string[] =>
      readdirSync(`/proc/${engine}/task`)
        .map((thread) => `${engine}/task/${thread}`)
        .filter((thread) => sliceMs(thread) === LONGEST_SLICE_MS);
    await until("long slices", () => computing().length >= CPUS);
    const processorOf = (thread: string): string | undefined =>
      /^Cpus_allowed_list:\t(\d+)$/m.exec(readFileSync(`/proc/${thread}/status`, "utf8"))?.[1];
    expect(new Set(computing().map(processorOf)).size).toBe(CPUS);
    expect(sliceMs(String(server.pid))).not.toBe(LONGEST_SLICE_MS);
  },
);
