// Programs in pages of other origins, on the official SDKs: a browser asks before each request whether its headers may be sent.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { fileServer, startServer } from "../helpers/binary.ts";
import { blankPage, describeInBrowser, overLan } from "../helpers/browser.ts";
import { CAPITAL } from "../helpers/chat-client.ts";
import type { PageSdks } from "../helpers/official/in-page.ts";

const SLOW_MS = 60_000;

interface Asked {
  readonly root: string;
  readonly apiKey: string;
  readonly question: string;
}

/** Runs in the page. What each call of the SDKs brought, or its error. */
async function askAll({ root, apiKey, question }: Asked): Promise<Record<string, unknown>> {
  const sdks = globalThis as unknown as PageSdks;
  const options = { apiKey, dangerouslyAllowBrowser: true, maxRetries: 0 };
  const openai = new sdks.OpenAI({ ...options, baseURL: `${root}/v1` });
  const anthropic = new sdks.Anthropic({ ...options, baseURL: root });
  const messages = [{ role: "user" as const, content: question }];
  const ask = { model: "default", messages, temperature: 0 };
  const calls: Record<string, () => Promise<unknown>> = {
    models: async () => (await openai.models.list()).data[0]?.id,
    chat: async () => (await openai.chat.completions.create(ask)).choices[0]?.message.content,
    "chat, streamed": async () => {
      let text = "";
      for await (const { choices } of await openai.chat.completions.create({ ...ask, stream: true }))
        text += choices[0]?.delta.content ?? "";
      return text;
    },
    responses: async () =>
      (await openai.responses.create({ model: "default", input: question, temperature: 0 })).output_text,
    "responses, streamed": () =>
      openai.responses
        .stream({ model: "default", input: question, temperature: 0 })
        .finalResponse()
        .then(({ output_text: text }) => text),
    messages: async () =>
      (await anthropic.messages.create({ ...ask, max_tokens: 99 })).content.find(
        ({ type }) => type === "text",
      ),
    "messages, streamed": () => anthropic.messages.stream({ ...ask, max_tokens: 99 }).finalText(),
    mistake: () => openai.chat.completions.create({ ...ask, temperature: 9 }),
    file: () =>
      openai.files.create({ file: new File(["a"], "a.txt"), purpose: "user_data" }).then(() => "stored"),
  };
  const seen: Record<string, unknown> = {};
  for (const [name, call] of Object.entries(calls))
    seen[name] = await call().catch((error: unknown) => String(error));
  return seen;
}

const ANSWERED = {
  models: "svc-tiny",
  chat: CAPITAL.answer,
  "chat, streamed": CAPITAL.answer,
  responses: CAPITAL.answer,
  "responses, streamed": CAPITAL.answer,
  messages: { type: "text", text: CAPITAL.answer },
  "messages, streamed": CAPITAL.answer,
  mistake: expect.stringContaining("temperature must be a number"),
  file: "stored",
};

const isSlow = process.env["SVC_SLOW_TESTS"] === "1";
if (!isSlow) console.warn("SKIPPED: the official SDKs with a key, from two origins: SVC_SLOW_TESTS=1");

describeInBrowser("the official SDKs in a page of another origin", () => {
  const open = fileServer();
  let site: ReturnType<typeof Bun.serve> | undefined;
  beforeAll(async () => {
    const entry = join(import.meta.dir, "../helpers/official/in-page.ts");
    const { outputs } = await Bun.build({ entrypoints: [entry], target: "browser", format: "iife" });
    const script = (await outputs[0]?.text()) ?? "";
    const html = `<!doctype html><script>${script.replaceAll("</script", "<\\/script")}</script>`;
    const headers = { "content-type": "text/html; charset=utf-8" };
    site = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response(html, { headers }) });
  });
  afterAll(() => site?.stop(true));

  const origin = (name: string): string => overLan(`http://127.0.0.1:${site?.port}`, name);
  const asked = async (name: string, root: string, apiKey: string): Promise<Record<string, unknown>> => {
    const page = await blankPage();
    await page.goto(origin(name));
    return page.evaluate(askAll, { root, apiKey, question: CAPITAL.content });
  };

  test(
    "get answers and readable errors from a server without keys, and no files",
    async () => {
      const seen = await asked("app.lan", open().url, "none");
      expect(seen).toEqual({ ...ANSWERED, file: "Error: Connection error." });
    },
    SLOW_MS,
  );

  test.if(isSlow)(
    "get all with a key from an allowed origin, and nothing from others or without it",
    async () => {
      const { url } = await startServer(["--api-keys", "secret", "--allowed-origins", origin("app.lan")]);
      expect(await asked("app.lan", url, "secret")).toEqual(ANSWERED);
      for (const text of Object.values(await asked("app.lan", url, "wrong")))
        expect(text).toContain("the API key is invalid");
      for (const text of Object.values(await asked("other.lan", url, "secret")))
        expect(text).toContain("Connection error");
    },
    SLOW_MS,
  );
});
