// A web search inside a request of each dialect, over a small internet.

import { expect, test } from "bun:test";
import { searchToolset } from "../../src/agent/tools/search.ts";
import { calling, lastText, saying, scripted, testLoop } from "../helpers/agent.ts";
import { chatBody, messagesBody, responsesBody, testApp } from "../helpers/app.ts";
import { parseSse } from "../helpers/sse.ts";
import { found, page, searcher, testWeb } from "../helpers/web.ts";

const OTTERS = "Sea otters hold hands while they sleep, so that the sea does not part them. "
  .repeat(3)
  .trim();
const web = testWeb({
  otters: () => page("Otters", OTTERS),
  other: () => page("Other", "Otters again. ".repeat(20)),
});
web.engine = found(
  { title: "Otters", url: web.at("www.otters.example", "/otters"), content: "About otters" },
  { title: "Other", url: web.at("other.example", "/other"), content: "Otters as well" },
);

/** An application whose model searches, reads the first page, and answers. */
function searchApp() {
  const { generate, requests } = scripted(
    calling(["svc_search_the_web", { query: "sea otters" }]),
    calling(["svc_website_content_extractor", { url: web.at("www.otters.example", "/otters") }]),
    saying("They hold hands."),
  );
  const countTokens = async (_model: string, text: string) => text.length / 4;
  const loop = testLoop({ generate, toolsets: [searchToolset({ web: searcher(web), countTokens })] });
  return { app: testApp(generate, { converse: loop.converse, files: loop.files }), requests };
}

const DOMAINS = ["otters.example"];

test.each([
  ["/v1/chat/completions", chatBody({ web_search_options: { filters: { allowed_domains: DOMAINS } } })],
  [
    "/v1/responses",
    responsesBody({ tools: [{ type: "web_search", filters: { allowed_domains: DOMAINS } }] }),
  ],
  [
    "/v1/messages",
    messagesBody({
      tools: [{ type: "web_search_20250305", name: "web_search", allowed_domains: DOMAINS, max_uses: 1 }],
    }),
  ],
])("%s searches, reads and answers", async (path, body) => {
  const { app, requests } = searchApp();
  const response = await app.post(path, { ...body, stream: true });
  const { events } = parseSse(await response.text());
  const progress = events
    .filter(({ event }) => event === "agentic_tool_call_progress")
    .map(({ data }) => JSON.parse(data) as { phase: string; data: object });
  const sources = ["otters.example"];
  expect(progress.map(({ phase, data }) => ({ phase, data }))).toEqual([
    { phase: "calling", data: { tool_type: "web_search", query: "sea otters" } },
    { phase: "complete", data: { tool_type: "web_search", results_count: 1, sources } },
    { phase: "calling", data: { tool_type: "web_search" } },
    { phase: "complete", data: { tool_type: "web_search", results_count: 1, sources } },
  ]);
  const told = [1, 2].map((pass) => lastText(requests[pass]));
  for (const text of told)
    expect(JSON.parse(text)).toMatchObject({
      sources,
      output: [{ content: expect.stringContaining(OTTERS) }],
    });
  expect(events.map(({ data }) => data).join()).toContain("They hold hands.");
});

test("a body that is not streamed lists the searches", async () => {
  const { app } = searchApp();
  const response = await app.post("/v1/chat/completions", chatBody({ web_search_options: {} }));
  expect(await response.json()).toMatchObject({
    choices: [{ finish_reason: "stop", message: { content: "They hold hands." } }],
    agentic_tool_calls: [
      {
        round: 1,
        name: "svc_search_the_web",
        arguments: JSON.stringify({ query: "sea otters" }),
        result_content: "2 results\nsources: otters.example, other.example",
      },
      {
        round: 2,
        name: "svc_website_content_extractor",
        result_content: "1 results\nsources: otters.example",
      },
    ],
  });
});
