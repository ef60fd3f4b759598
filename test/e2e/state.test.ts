// What outlives a request, against the compiled executable: files with the official client, a session that moves from
// one server to another, and a durable state under kill -9.

import { describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { cpSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import OpenAI, { NotFoundError, toFile } from "openai";
import { fileServer, launchServer, newFolder, runBinary, startServer } from "../helpers/binary.ts";
import { ask, complete, completeText } from "../helpers/chat-client.ts";

const server = fileServer();
const client = (url: string) => new OpenAI({ apiKey: "any", baseURL: `${url}/v1`, maxRetries: 0 });

/** With SVC_SLOW_TESTS=1 the number that a day of use may bring. */
const UPLOADS = process.env["SVC_SLOW_TESTS"] === "1" ? 1000 : 100;

describe("files with the official client", () => {
  test("go up, are told about, come down and go", async () => {
    const { files } = client(server().url);
    const bytes = randomBytes(300_000);
    const file = await files.create({ file: await toFile(bytes, "Übersicht.bin"), purpose: "user_data" });
    expect(file).toMatchObject({ object: "file", bytes: bytes.length, filename: "Übersicht.bin" });
    expect(await files.retrieve(file.id)).toEqual(file);
    const content = await files.content(file.id);
    expect(Buffer.from(await content.arrayBuffer()).equals(bytes)).toBe(true);
    expect(await files.delete(file.id)).toEqual({ id: file.id, object: "file", deleted: true });
    const missing: unknown = await files.retrieve(file.id).catch((error: unknown) => error);
    expect(missing).toBeInstanceOf(NotFoundError);
  });

  test("are told to the model", async () => {
    const { files, chat } = client(server().url);
    const text = Buffer.from("Apples are red.");
    const file = await files.create({ file: await toFile(text, "a.txt"), purpose: "user_data" });
    const asked = (content: OpenAI.ChatCompletionUserMessageParam["content"]) =>
      chat.completions.create({ model: "default", messages: [{ role: "user", content }], max_tokens: 4 });
    const withFile = await asked([
      { type: "text", text: "Hello " },
      { type: "file", file: { file_id: file.id } },
    ]);
    const without = await asked("Hello ");
    const grown = (withFile.usage?.prompt_tokens ?? 0) - (without.usage?.prompt_tokens ?? 0);
    expect(grown).toBeGreaterThan(20);
  });
});

test("the model answers from a file", async () => {
  // In a session the file's id, which the model sees too, does not depend on chance.
  const data = `data:text/plain;base64,${Buffer.from("The secret word is banana.").toString("base64")}`;
  const content = [
    { type: "text", text: "What is the secret word?" },
    { type: "file", file: { filename: "a.txt", file_data: data } },
  ];
  const question = { messages: [{ role: "user", content }], temperature: 0, enable_thinking: false };
  expect(await completeText(server().url, { ...question, session_id: "reader" })).toContain("banana");
});

test("a session goes on elsewhere exactly as it would have here", async () => {
  const there = await startServer();
  const first = ask({ content: "What is the capital of France?" }, { session_id: "trip" });
  expect(await complete(server().url, first)).toMatchObject({ session_id: "trip" });

  const exported = await fetch(`${server().url}/v1/sessions/trip`);
  const imported = await fetch(`${there.url}/v1/sessions/trip`, {
    method: "PUT",
    headers: { "content-type": "application/json" },
    body: await exported.text(),
  });
  expect(imported.status).toBe(200);

  const next = ask({ content: "Count from 1 to 5." }, { session_id: "trip" });
  const [here, elsewhere] = [await complete(server().url, next), await complete(there.url, next)];
  const said = [here, elsewhere].map(({ choices }) => choices[0]?.message.content);
  expect(said[1]).toBe(said[0] ?? "nothing");
  expect(elsewhere.usage?.prompt_tokens).toBe(here.usage?.prompt_tokens);
  const alone = await complete(there.url, ask({ content: "Count from 1 to 5." }));
  expect(elsewhere.usage?.prompt_tokens).toBeGreaterThan(alone.usage?.prompt_tokens ?? 0);
});

describe("a state in a file", () => {
  const post = (url: string, name: string, bytes: Uint8Array<ArrayBuffer>) => {
    const form = new FormData();
    form.append("purpose", "user_data");
    form.append("file", new File([bytes], name));
    return fetch(`${url}/v1/files`, { method: "POST", body: form });
  };

  test(`keeps every acknowledged file when the server is killed during ${UPLOADS} uploads`, async () => {
    const flags = ["--state", `sqlite:${join(newFolder(), "state.db")}`];
    const first = await launchServer(flags);
    const acknowledged = new Map<string, Uint8Array>();
    let sent = 0;
    const uploader = async () => {
      while (sent < UPLOADS) {
        const name = `${sent++}.bin`;
        const bytes = new Uint8Array(randomBytes(1 + ((sent * 7919) % 60_000)));
        const response = await post(first.url, name, bytes).catch(() => undefined);
        const file = (await response?.json().catch(() => undefined)) as { id: string } | undefined;
        if (file !== undefined) acknowledged.set(file.id, bytes);
        if (acknowledged.size >= (UPLOADS * 3) / 4) first.kill("SIGKILL"); // others are under way
      }
    };
    await Promise.all(Array.from({ length: 8 }, uploader));
    expect(await first.exited).toBe(137);
    await first.stop(); // its engine ends with it
    expect(acknowledged.size).toBeGreaterThanOrEqual((UPLOADS * 3) / 4);
    expect(acknowledged.size).toBeLessThan(UPLOADS);

    const second = await startServer(flags);
    for (const [id, bytes] of acknowledged) {
      const content = await fetch(`${second.url}/v1/files/${id}/content`);
      expect(content.status).toBe(200);
      expect(Buffer.from(await content.arrayBuffer()).equals(bytes)).toBe(true);
    }
    const listed = (await (await fetch(`${second.url}/v1/files`)).json()) as readonly {
      truncated?: boolean;
    }[];
    expect(listed.filter(({ truncated }) => truncated === true)).toEqual([]); // no half of any other either
  }, 300_000);

  test("keeps sessions and stored responses across a restart, also from a copy of its folder", async () => {
    const [folder, copy] = [newFolder(), newFolder()];
    const inFolder = (name: string) => ["--state", `sqlite:${join(name, "state.db")}`];
    const first = await launchServer(inFolder(folder));
    await completeText(first.url, ask({ content: "What is the capital of France?" }, { session_id: "trip" }));
    const { id } = await client(first.url).responses.create({ input: "Count from 1 to 5." });
    const kept = (url: string) =>
      Promise.all(
        [`sessions/trip`, `responses/${id}`].map(async (path) => (await fetch(`${url}/v1/${path}`)).text()),
      );
    const before = await kept(first.url);
    await first.stop();
    cpSync(folder, copy, { recursive: true });
    rmSync(folder, { recursive: true });
    const second = await startServer(inFolder(copy));
    expect(await kept(second.url)).toEqual(before);
    expect(before[1]).toContain('"completed"');
  });

  test("that is in use, or no state at all, stops the start with a sentence", async () => {
    const folder = newFolder();
    const taken = join(folder, "state.db");
    await startServer(["--state", `sqlite:${taken}`]);
    const other = join(folder, "notes.txt");
    writeFileSync(other, "my notes ".repeat(1000));
    for (const [path, words] of [
      [taken, "is in use by another process"],
      [other, "is not a database"],
      [join(folder, "none", "state.db"), "its folder must exist"],
    ] as const) {
      const { exit, err } = await runBinary(["serve", "--port", "0", "--state", `sqlite:${path}`]);
      expect(err).toContain(`the state file ${path} `);
      expect(err).toContain(words);
      expect(exit).toBe(1);
    }
  });
});
