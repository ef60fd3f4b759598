// Batch-invariant answers, fingerprints and `svc replay`, through the executable.

import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newFolder, runBinary, type Server, startServer } from "../helpers/binary.ts";
import { postJson } from "../helpers/post.ts";

const INVARIANT = ["--determinism", "batch-invariant"];
const SHARED = Array.from({ length: 30 }, (_, i) => `Fact ${i}: box ${i} is in room ${(i * 7) % 30}.`).join(
  " ",
);
const BODIES = Array.from({ length: 6 }, (_, i) => ({
  messages: [{ role: "user", content: `${i % 2 === 0 ? SHARED : ""} Where is box ${i}?` }],
  temperature: 1.2,
  seed: i,
  max_tokens: 24,
}));

const CAPS = { max_tokens: 8, temperature: 1.2, seed: 1 };
const OPTIONS = { num_predict: 8, temperature: 1.2, seed: 1 };
/** A request to each other route whose answers have fingerprints. */
const OTHERS = [
  { path: "/v1/completions", body: { prompt: SHARED, ...CAPS } },
  { path: "/v1/messages", body: { messages: BODIES[0]?.messages, ...CAPS } },
  { path: "/v1/responses", body: { input: SHARED, ...CAPS } },
  { path: "/api/chat", body: { messages: BODIES[0]?.messages, options: OPTIONS, stream: false } },
  { path: "/api/generate", body: { prompt: SHARED, options: OPTIONS, stream: false } },
];

interface Answered {
  readonly status: number;
  readonly header: string | null;
  readonly choices: readonly { readonly fingerprint?: string }[];
  readonly error?: { readonly message: string; readonly param: string };
  readonly fingerprint?: string;
}

async function ask({ url }: Server, body: object, path = "/v1/chat/completions"): Promise<Answered> {
  const response = await postJson(url + path, body);
  const { choices, error, fingerprint } = (await response.json()) as Partial<Answered>;
  const { status, headers } = response;
  return {
    status,
    header: headers.get("x-svc-fingerprint"),
    choices: choices ?? [],
    ...(error && { error }),
    ...(fingerprint === undefined ? {} : { fingerprint }),
  };
}

const portOf = ({ url }: Server): string => new URL(url).port;

describe("batch-invariant", () => {
  test("fingerprints recorded one by one are found in a crowd, after a restart, with drafts, and by svc replay", async () => {
    const file = join(newFolder(), "answers.jsonl");
    const requests = join(newFolder(), "requests.jsonl");
    writeFileSync(
      requests,
      [...BODIES.map((body) => ({ body })), ...OTHERS].map((line) => `${JSON.stringify(line)}\n`).join(""),
    );
    const first = await startServer(INVARIANT);
    const written = await runBinary(["replay", requests, "--record", file, "--port", portOf(first)]);
    expect(written).toMatchObject({ exit: 0, err: "" });
    first.kill("SIGKILL");

    const draft = join(import.meta.dir, "../../demo-model/tiny.gguf");
    const drafts = ["--mtp-model", draft, "--mtp-draft-sampling", "greedy"];
    const second = await startServer([...INVARIANT, "--max-seqs", "4", ...drafts]);
    const recorded = readFileSync(file, "utf8")
      .trim()
      .split("\n")
      .map((line): Answered => (JSON.parse(line) as { answer: Answered }).answer);
    const crowd = await Promise.all(
      BODIES.map((body) => ask(second, { ...body, fingerprint: true, determinism: "batch-invariant" })),
    );
    const wanted = recorded.slice(0, BODIES.length).map(({ choices }) => choices[0]?.fingerprint);
    expect(wanted.every((fingerprint) => /^[0-9a-f]{32}$/.test(fingerprint ?? ""))).toBe(true);
    expect(crowd.map(({ choices }) => choices[0]?.fingerprint)).toEqual(wanted);
    expect(crowd.map(({ header }) => header ?? undefined)).toEqual(wanted);
    const others = await Promise.all(
      OTHERS.map(({ body, path }) =>
        ask(second, { ...body, fingerprint: true, determinism: "batch-invariant" }, path),
      ),
    );
    for (const [i, answer] of others.entries()) {
      const { choices, fingerprint } = recorded[BODIES.length + i] ?? { choices: undefined };
      const one = choices?.[0]?.fingerprint ?? fingerprint;
      expect(one).toMatch(/^[0-9a-f]{32}$/);
      expect(answer.header).toBe(one ?? "");
      expect(answer.choices[0]?.fingerprint ?? answer.fingerprint).toBe(one ?? "");
    }
    const replayed = await runBinary(["replay", file, "--port", portOf(second)]);
    expect(replayed).toEqual({ exit: 0, err: "", out: "11 of 11 answers have the recorded fingerprints\n" });
  });

  test("svc replay says where an answer parts", async () => {
    const server = await startServer([]);
    const body = { prompt: "Once upon a time", seed: 1, max_tokens: 8, fingerprint: true, logprobs: 0 };
    const { choices } = await ask(server, body, "/v1/completions");
    const [choice] = choices as [{ logprobs: { tokens: string[] } }];
    const tokens = [...choice.logprobs.tokens];
    tokens[3] = "something else";
    const changed = { ...choice, fingerprint: "0".repeat(32), logprobs: { ...choice.logprobs, tokens } };
    const file = join(newFolder(), "changed.jsonl");
    writeFileSync(file, JSON.stringify({ path: "/v1/completions", body, answer: { choices: [changed] } }));
    const { exit, out } = await runBinary(["replay", file, "--port", portOf(server)]);
    expect(exit).toBe(1);
    expect(out).toContain('1: choice 0 parts at token 4: "something else"');
    expect(out).toContain("0 of 1 answers");
    writeFileSync(file, '{"body": 1}');
    const wrong = await runBinary(["replay", file, "--port", portOf(server)]);
    expect(wrong.exit).toBe(1);
    expect(wrong.err).toContain("Line 1 is no recorded request: body is wrong");
  });

  test("is refused where it cannot be had", async () => {
    const server = await startServer([]);
    const plain = await ask(server, { ...BODIES[0], determinism: "batch-invariant" });
    expect(plain).toMatchObject({ status: 400, error: { param: "determinism" } });
    expect(plain.error?.message).toContain("[runtime]");
    for (const { path, body } of OTHERS) {
      const { status, error } = await ask(server, { ...body, determinism: "batch-invariant" }, path);
      expect(status).toBe(400);
      expect(JSON.stringify(error)).toContain("[runtime]");
    }

    const quantized = await runBinary(["serve", "--port", "0", ...INVARIANT, "--cache-type", "q8_0"]);
    expect(quantized.exit).toBe(2);
    expect(quantized.err).toContain("f16");
    const kernels = await runBinary(["serve", "--port", "0", ...INVARIANT], { env: { SVC_KERNELS: "off" } });
    expect(kernels.exit).not.toBe(0);
    expect(kernels.err).toContain("is not possible for this model on this machine");
  });
});
