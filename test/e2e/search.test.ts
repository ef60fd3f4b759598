// The web search through the executable. Its search engine is one of the own network, as the settings allow; pages on this
// machine stay out of reach, as nothing allows, so their descriptions are all that is found. That pages are read is shown
// in process (test/search).

import { afterAll, describe, expect, test } from "bun:test";
import { fileServer } from "../helpers/binary.ts";
import { postJson } from "../helpers/post.ts";

const asked: string[] = [];
const engine = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: (request): Response => {
    const url = new URL(request.url);
    asked.push(url.pathname);
    if (url.pathname !== "/search")
      return new Response("<p>A page of this machine.</p>", { headers: { "content-type": "text/html" } });
    const page = `http://127.0.0.1:${url.port}/page`;
    return Response.json({
      results: [{ title: "Inside", url: page, content: "What the engine says of it" }],
    });
  },
});
afterAll(() => engine.stop(true));

interface ToolCall {
  readonly name: string;
  readonly result_content: string;
}

interface Answer {
  readonly agentic_tool_calls?: readonly ToolCall[];
  readonly error?: { readonly code: string; readonly message: string };
}

async function post(url: string, path: string, body: object): Promise<{ status: number; body: Answer }> {
  const response = await postJson(url + path, body);
  return { status: response.status, body: (await response.json()) as Answer };
}

const MESSAGES = [{ role: "user", content: "Search the web for otters." }];
const QUESTION = { messages: MESSAGES, temperature: 0, enable_thinking: false, max_tokens: 200 };

describe("a server with a search engine of its own", () => {
  const server = fileServer([
    "--enable-search",
    "--search-provider=searxng",
    `--search-url=http://127.0.0.1:${engine.port}`,
  ]);

  test("searches inside a request, and reads no page of this machine", async () => {
    const body = { ...QUESTION, web_search_options: {}, tool_choice: "required", max_tool_rounds: 1 };
    const answer = await post(server().url, "/v1/chat/completions", body);
    expect(answer.status).toBe(200);
    const [call] = answer.body.agentic_tool_calls ?? [];
    expect(call).toMatchObject({
      name: "svc_search_the_web",
      result_content: "1 results\nsources: 127.0.0.1",
    });
    expect(asked).toEqual(["/search"]);
  });

  test("says so when it starts", async () => {
    await server().says("  tools   web search (searxng)\n");
  });
});

describe("a server without", () => {
  const server = fileServer([]);

  test.each([
    ["/v1/chat/completions", { ...QUESTION, web_search_options: {} }],
    [
      "/v1/messages",
      { max_tokens: 9, messages: MESSAGES, tools: [{ type: "web_search_20250305", name: "web_search" }] },
    ],
    ["/v1/responses", { input: "otters", tools: [{ type: "web_search" }] }],
  ])("refuses a search at %s", async (path, body) => {
    const { status, body: answer } = await post(server().url, path, body);
    expect([status, answer.error?.code]).toEqual([400, "capability_disabled"]);
    expect(answer.error?.message).toContain("--enable-search");
  });
});
