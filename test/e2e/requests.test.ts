// What can be wrong with a request, and what else there is to fetch; once each, through the executable.

import { describe, expect, test } from "bun:test";
import { REQUEST_BODY_BYTES_MAX } from "../../src/http/limits.ts";
import { fileServer } from "../helpers/binary.ts";
import { ask, CAPITAL, complete, completeText, postChat } from "../helpers/chat-client.ts";

const server = fileServer();
const CHAT = "/v1/chat/completions";

interface Failure {
  readonly status: number;
  readonly error: { readonly code: string; readonly message: string; readonly type: string };
}

async function failure(response: Response): Promise<Failure> {
  expect(response.headers.get("content-type")).toContain("application/json");
  const body: unknown = await response.json();
  return { status: response.status, ...(body as { error: Failure["error"] }) }; // every error has this shape
}

function post(body: BodyInit, headers: Record<string, string> = { "content-type": "application/json" }) {
  return fetch(server().url + CHAT, { method: "POST", headers, body });
}

describe("errors", () => {
  test.each([
    ["malformed JSON", "{", 400, "invalid_json"],
    ["an array", "[]", 400, "invalid_request"],
    ["no messages", "{}", 400, "missing_field"],
    ["a wrong type", '{"messages":[{"role":"user","content":5}]}', 400, "invalid_request"],
    ["an empty conversation", '{"messages":[]}', 400, "invalid_request"],
  ])("%s", async (_, body, status, code) => {
    expect(await failure(await post(body))).toMatchObject({ status, error: { code } });
  });

  test("another content type is 415, another method 405, another path 404", async () => {
    expect(await failure(await post("x", { "content-type": "text/plain" }))).toMatchObject({ status: 415 });
    expect(await failure(await fetch(server().url + CHAT))).toMatchObject({ status: 405 });
    expect(await failure(await fetch(`${server().url}/v1/absent`))).toMatchObject({ status: 404 });
  });

  test("a body of one byte too many is 413, declared or chunked, and one of just enough is read", async () => {
    const tooMany = new Uint8Array(REQUEST_BODY_BYTES_MAX + 1).fill(0x20);
    expect(await failure(await post(tooMany))).toMatchObject({
      status: 413,
      error: { code: "payload_too_large", type: "invalid_request_error" },
    });
    const chunked = new ReadableStream({
      start(controller) {
        for (let at = 0; at < tooMany.length; at += 1 << 20)
          controller.enqueue(tooMany.subarray(at, at + (1 << 20)));
        controller.close();
      },
    });
    expect(await failure(await post(chunked))).toMatchObject({ status: 413 });
    expect(await failure(await post(tooMany.subarray(1)))).toMatchObject({ error: { code: "invalid_json" } });
    expect(await completeText(server().url, ask(CAPITAL))).toBe(CAPITAL.answer);
  });

  test("a prompt longer than the context is 400 with both numbers, streaming or not", async () => {
    const long = ask({ content: "word ".repeat(5000) });
    for (const stream of [false, true]) {
      const { status, error } = await failure(await postChat(server().url, { ...long, stream }));
      expect([status, error.code]).toEqual([400, "context_length_exceeded"]);
      const numbers = (error.message.match(/\d+/g) ?? []).map(Number);
      expect(numbers.some((tokens) => tokens >= 5000)).toBe(true);
      expect(numbers).toContain(4096);
    }
    const cut = await complete(server().url, { ...long, truncate_sequence: true, max_tokens: 4 });
    expect(cut.usage.completion_tokens).toBeLessThanOrEqual(4);
  });

  test("no error tells what was asked or where the server's files are", async () => {
    const secret = "my-secret-question";
    const bodies = [
      JSON.stringify(ask({ content: secret }, { model: "absent" })),
      JSON.stringify(ask({ content: secret }, { temperature: 9 })),
      `{"messages": "${secret}"`,
      JSON.stringify({ messages: [{ role: "robot", content: secret }] }),
    ];
    for (const body of bodies) {
      const text = await (await post(body)).text();
      expect(text).not.toContain(secret);
      expect(text).not.toMatch(/\/(home|root|tmp|usr)\//);
    }
  });
});

describe("other routes", () => {
  test("/docs works without internet: all it refers to is served here", async () => {
    const page = await fetch(`${server().url}/docs`);
    expect(page.headers.get("content-type")).toContain("text/html");
    const html = await page.text();
    const references = [...html.matchAll(/(?:src|href|url)\s*[=:]\s*"([^"]+)"/g)].map(
      ([, target = ""]) => target,
    );
    expect(references.length).toBeGreaterThanOrEqual(4);
    for (const target of references.filter((reference) => !reference.startsWith("data:"))) {
      expect(target).toMatch(/^\/[^/]/); // a path here, no other host
      const asset = await fetch(server().url + target);
      expect([target, asset.status]).toEqual([target, 200]);
      const bytes = (await asset.arrayBuffer()).byteLength;
      expect(bytes).toBeGreaterThan(1000);
    }
    expect(html).not.toContain("//");
  });

  test.each(["svc", "x", "a.local:80"])("a host that is called %p is served like any other", async (host) => {
    const models = await fetch(`${server().url}/v1/models`, { headers: { host } });
    expect(models.status).toBe(200);
    const answer = await postChat(server().url, ask(CAPITAL), {
      headers: { host, "content-type": "application/json" },
    });
    expect(answer.status).toBe(200);
  });
});
