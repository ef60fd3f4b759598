// Screenshots of the web interface: every state on a desktop and on a phone, light and dark. `npm run screenshots` writes them to
// screenshots/, with a page to leaf through, and looks for violations of accessibility and for what is wider than the screen; without
// it nothing runs.

import { afterAll, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { BrowserContextOptions, Page } from "playwright-core";
import type { Conversation } from "../../ui/state/conversation.ts";
import { exportText } from "../../ui/state/transfer.ts";
import { describeInBrowser, violations, visit } from "../helpers/browser.ts";
import { pdfOf } from "../helpers/documents.ts";
import { answer } from "../helpers/run-events.ts";
import { ALL, choice, details, machine, repository, talk } from "../helpers/screenshot-data.ts";
import { scriptedUi } from "../helpers/scripted-ui.ts";

const FOLDER = join(import.meta.dir, "../../screenshots");
const SLOW_MS = 300_000;
const GIB = 1024 ** 3;

const VIEWS: Readonly<Record<string, BrowserContextOptions>> = {
  "desktop-light": { viewport: { width: 1280, height: 800 }, colorScheme: "light" },
  "desktop-dark": { viewport: { width: 1280, height: 800 }, colorScheme: "dark" },
  "phone-light": {
    viewport: { width: 360, height: 740 },
    colorScheme: "light",
    hasTouch: true,
    isMobile: true,
  },
  "phone-dark": {
    viewport: { width: 360, height: 740 },
    colorScheme: "dark",
    hasTouch: true,
    isMobile: true,
  },
};

interface Shot {
  readonly name: string;
  /** Whether the server has the built-in model only. */
  readonly isNew?: boolean;
  /** Content of the browser. */
  readonly conversations?: readonly Conversation[];
  readonly act: (page: Page) => Promise<unknown>;
}

async function open(page: Page, title: string): Promise<void> {
  const list = page.getByLabel("Show conversations");
  if ((await list.count()) > 0) await list.click();
  await page.getByRole("link", { name: title }).click();
  await page.locator(".answer").last().waitFor();
  if (title === talk.title) await page.locator(".formula math").first().waitFor();
}

async function go(page: Page, name: string): Promise<void> {
  await page.evaluate((hash) => (location.hash = hash), `#/${name}`);
  await page.locator(".page").waitFor();
}

const SHOTS: readonly Shot[] = [
  {
    name: "01-first-run",
    isNew: true,
    conversations: [],
    act: (page) => page.locator(".proposals").waitFor(),
  },
  { name: "02-welcome", act: (page) => page.getByText("Start a conversation").waitFor() },
  { name: "03-conversation", act: (page) => open(page, "Linear and binary search") },
  {
    name: "04-conversation-top",
    act: async (page) => {
      await open(page, "Linear and binary search");
      await page.locator(".thread").evaluate((box) => (box.scrollTop = 0));
    },
  },
  {
    name: "05-tools",
    act: async (page) => {
      await open(page, "Rainfall of last year");
      await page.locator(".tool .fold").click();
    },
  },
  {
    name: "06-preview",
    act: async (page) => {
      await open(page, "How passages are found");
      await page.getByLabel("Preview").click();
      await page.frameLocator("iframe.preview").getByText("Passages").waitFor();
    },
  },
  {
    name: "07-attachments",
    act: async (page) => {
      const mimeType = "application/octet-stream";
      await page.getByLabel("Files to attach").setInputFiles([
        { name: "report.pdf", mimeType, buffer: pdfOf(["Annual report", "Figures"]) },
        { name: "book.txt", mimeType, buffer: Buffer.from("A long story. ".repeat(9000)) },
      ]);
      await page.getByText("large: the passages").waitFor();
      await page.getByText("2 pages").waitFor();
      await page.getByLabel("Message").fill("What do they say about rain?");
    },
  },
  {
    name: "08-context",
    act: async (page) => {
      await open(page, "Linear and binary search");
      await page.getByLabel("Message").fill("word ".repeat(4800));
      await page.getByText(/Nearly full|does not fit/).waitFor();
    },
  },
  {
    name: "09-settings",
    act: async (page) => {
      await open(page, "Linear and binary search");
      await page.getByLabel("Conversation settings").first().click();
      await page.locator(".panel").waitFor();
    },
  },
  {
    name: "10-palette",
    act: async (page) => {
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Search actions" }).waitFor();
    },
  },
  {
    name: "11-list-and-menu",
    act: async (page) => {
      const list = page.getByLabel("Show conversations");
      if ((await list.count()) > 0) await list.click();
      await page.getByLabel("Options for Linear and binary search").click();
    },
  },
  {
    name: "12-share",
    act: async (page) => {
      await open(page, "Linear and binary search");
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Search actions" }).fill("save conversation");
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").waitFor();
    },
  },
  { name: "13-models", act: (page) => go(page, "models") },
  {
    name: "14-hub",
    act: async (page) => {
      await go(page, "models");
      await page.getByLabel("Search the hub").fill("qwen3");
      await page.getByRole("button", { name: "Qwen/Qwen3-14B-GGUF" }).click();
      await page.getByText("too large").waitFor();
      await page.getByText("too large").scrollIntoViewIfNeeded();
    },
  },
  { name: "15-system", act: (page) => go(page, "system") },
  {
    name: "29-traces",
    act: async (page) => {
      await go(page, "system");
      await page.getByText("POST /v1/chat/completions").click();
      await page.getByText("execute_tool python").scrollIntoViewIfNeeded();
    },
  },
  {
    name: "28-usage",
    act: async (page) => {
      await go(page, "usage");
      await page.locator(".usage tfoot").waitFor();
    },
  },
  {
    name: "16-help",
    act: async (page) => {
      await page.getByText("Start a conversation").click();
      await page.keyboard.press("?");
      await page.getByRole("dialog").waitFor();
    },
  },
  {
    name: "17-mcp",
    act: async (page) => {
      await page.getByLabel("Conversation settings").first().click();
      await page.getByRole("button", { name: "Add an MCP server" }).click();
      await page.getByText("2 tools").click();
      await page.getByRole("form", { name: "Add an MCP server" }).scrollIntoViewIfNeeded();
    },
  },
  {
    name: "18-german",
    act: async (page) => {
      await inGerman(page);
      const show = page.getByLabel("Unterhaltungen einblenden");
      if ((await show.count()) > 0) await show.click();
      await page.getByRole("link", { name: /Linear and binary search/ }).click();
      await page.locator("math").last().waitFor();
    },
  },
  {
    name: "19-german-settings",
    act: async (page) => {
      await inGerman(page);
      await page.getByLabel("Einstellungen der Unterhaltung").first().click();
      await page.locator(".panel").waitFor();
    },
  },
  {
    name: "20-german-models",
    act: async (page) => {
      await inGerman(page);
      await go(page, "models");
    },
  },
  {
    name: "21-german-system",
    act: async (page) => {
      await inGerman(page);
      await go(page, "system");
    },
  },
  {
    name: "22-prompt-menu",
    act: async (page) => {
      await savePrompts(page);
      await page.getByRole("button", { name: "Close settings" }).click();
      await page.getByLabel("Message", { exact: true }).fill("/t");
      await page.getByRole("listbox", { name: "Prompts" }).waitFor();
    },
  },
  {
    name: "23-settings-end",
    act: async (page) => {
      await savePrompts(page);
      await page.getByLabel("Theme", { exact: true }).scrollIntoViewIfNeeded();
    },
  },
  { name: "24-failed", act: (page) => open(page, "A failed answer") },
  { name: "25-metrics", act: (page) => go(page, "metrics") },
  { name: "26-images", act: (page) => go(page, "images") },
  { name: "27-speech", act: (page) => go(page, "speech") },
];

/** Chooses German, as the settings do. */
async function inGerman(page: Page): Promise<void> {
  await page.getByLabel("Conversation settings").first().click();
  await page.getByLabel("Language").selectOption("de");
  await page.getByRole("button", { name: "Einstellungen schließen" }).click();
}

/** Saves two prompts in the settings, which stay open. */
async function savePrompts(page: Page): Promise<void> {
  await page.getByLabel("Conversation settings").first().click();
  for (const [name, text] of [
    ["translate", "Translate into {{language}}: {{text}}"],
    ["tidy", "Tidy up this text, and keep its tone and its facts:"],
  ] as const) {
    await page.getByLabel("Text of the prompt").fill(text);
    await page.getByLabel("Name of the prompt").fill(name);
    await page.getByRole("button", { name: "Save the prompt" }).click();
  }
  await page.getByLabel("Dismiss").first().click();
  await page.getByLabel("Dismiss").first().click();
}

async function importAll(page: Page, conversations: readonly Conversation[]): Promise<void> {
  if (conversations.length === 0) return;
  const list = page.getByLabel("Show conversations");
  const isNarrow = (await list.count()) > 0;
  if (isNarrow) await list.click();
  const chooser = page.waitForEvent("filechooser");
  await page.getByLabel("Import conversations").click();
  const buffer = Buffer.from(exportText(conversations));
  await (await chooser).setFiles({ name: "all.json", mimeType: "application/json", buffer });
  await page.getByText(`Imported ${conversations.length} conversations`).waitFor();
  await page.getByLabel("Dismiss").click();
  if (isNarrow) await page.getByLabel("Hide conversations").click({ force: true });
}

if (process.env["SVC_SCREENSHOTS"] === "1") {
  describeInBrowser("screenshots", () => {
    const ui = scriptedUi();
    ui.play(async function* () {
      yield* answer("Well said");
    });
    const route = (path: string, body: unknown): void => ui.route(path, () => Response.json(body));
    const serve = (isNew: boolean): void => {
      const capabilities = { tools: true, vision: false, audio: false, reasoning: true, embeddings: false };
      const served = {
        id: "Qwen/Qwen3-8B-GGUF:Q4_K_M",
        status: "loaded",
        kind: "text",
        context_length: 24_576,
      };
      const sees = { ...served, id: "ggml-org/gemma-3-4b-it-GGUF:Q4_K_M", status: "unloaded" };
      const cards = isNew
        ? [{ id: "svc-tiny", status: "loaded", kind: "text", context_length: 4096 }]
        : [
            {
              ...served,
              modalities: [],
              capabilities,
              pinned: true,
              defaults: { temperature: 0.6, top_k: 20 },
            },
            {
              ...sees,
              pinned: false,
              modalities: ["image"],
              capabilities: { ...capabilities, vision: true },
            },
          ];
      route("/v1/models", { data: cards });
      const now = Date.now() / 1000;
      const at = Array.from({ length: 60 }, (_, i) => now - (59 - i) * 5);
      const wave = (size: number) => at.map((_, i) => Math.round(size * (1 + Math.sin(i / 7))));
      const series = { svc_running_sequences: wave(4), svc_waiting_sequences: wave(1) };
      route("/ui/day/metrics", { at, series });
      ui.route("/metrics", () => new Response("svc_running_sequences 3\n"));
      route("/ui/day/log", { lines: [{ at: now, text: "the model is loaded" }] });
      const tool = (name: string, description: string) => ({ name, description });
      const used = {
        requests: 212,
        prompt_tokens: 181_204,
        cached_tokens: 120_512,
        completion_tokens: 40_921,
      };
      const rest = { reasoning_tokens: 9204, tool_calls: 31, compute_seconds: 812.4 };
      const usage = ["Anna", "Otto", "Nina"].map((key) => ({
        day: "2026-11-27",
        key,
        model: "qwen3-8b",
        ...used,
        ...rest,
      }));
      route("/v1/usage", { object: "list", data: usage, total: { ...used, ...rest } });
      const limits = { rpm: 60, budget_tokens_per_day: 500_000 };
      route("/v1/me", {
        name: "Otto",
        role: "admin",
        signed_in_by: "key",
        limits,
        usage_today: { ...used, ...rest },
      });
      const steps = [
        ["queue", 0, 0.2, 1],
        ["chat qwen3-8b", 0.01, 4.1, 1],
        ["prompt", 0.01, 0.31, 2],
        ["prefill", 0.32, 0.9, 2],
        ["decode", 1.22, 2.89, 2],
        ["execute_tool python", 2.1, 1.2, 2],
      ] as const;
      const spans = steps.map(([name, startSeconds, seconds, depth]) => ({
        name,
        startSeconds,
        seconds,
        depth,
      }));
      const about = { "gen_ai.request.model": "qwen3-8b", "user.name": "Anna" };
      const trace = {
        traceId: "0af7651916cd43dd8448eb211c80319c",
        requestId: "req_1",
        at: now,
        seconds: 4.13,
        spans,
      };
      route("/ui/day/traces", {
        traces: [{ ...trace, name: "POST /v1/chat/completions", attributes: about }],
      });
      route("/ui/mcp", {
        can_add: true,
        servers: [
          {
            id: "wiki",
            name: "wiki",
            origin: "page",
            host: "wiki.example.com",
            status: "connected",
            tools: [tool("wiki_search", "Searches the pages."), tool("wiki_read", "Reads a page.")],
          },
          {
            id: "tickets",
            name: "tickets",
            origin: "page",
            host: "tickets.example.com",
            status: "failed",
            problem: "it needs a valid token (HTTP status 401)",
            needs_token: true,
            tools: [],
          },
        ],
      });
      const file = { id: served.id, quantization: "Q4_K_M", size_bytes: 4.7 * GIB, is_removable: true };
      route("/v1/hub/models", { data: isNew ? [] : [{ ...file, served_as: served.id }], machine });
      const pull = {
        id: "pull_1",
        source: "ggml-org/gpt-oss-20b-GGUF",
        model: "ggml-org/gpt-oss-20b-GGUF:MXFP4",
        status: "downloading",
        total_bytes: 11.3 * GIB,
        completed_bytes: 4.1 * GIB,
        bytes_per_second: 0.03 * GIB,
        seconds_left: 240,
        error: null,
      };
      route("/v1/hub/pulls", { data: isNew ? [] : [pull] });
      const [small, middle, large] = [
        choice("Q4_K_M", 8.4, "fits"),
        choice("Q8_0", 14.6, "tight"),
        choice("F16", 27.5, "too_large"),
      ];
      const of14B = repository("Qwen/Qwen3-14B-GGUF", 14_800_000_000, 81_234);
      route("/v1/hub/search", {
        data: [of14B, repository("Qwen/Qwen3-4B-GGUF", 4_000_000_000, 64_120)],
      });
      route("/v1/hub/models/Qwen/Qwen3-14B-GGUF", details(of14B, [small, middle, large], small));
    };

    for (const [view, options] of Object.entries(VIEWS)) {
      for (const { name, isNew = false, conversations = ALL, act } of SHOTS) {
        test(
          `${name} ${view}`,
          async () => {
            serve(isNew);
            const { page } = await visit(ui.url(), { ...options, bypassCSP: true }); // axe is a script
            await page.getByLabel("Message").waitFor();
            await importAll(page, conversations);
            await act(page);
            mkdirSync(FOLDER, { recursive: true });
            await page.screenshot({ path: join(FOLDER, `${name}-${view}.png`), animations: "disabled" });
            expect(await violations(page)).toEqual([]);
            expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0);
          },
          SLOW_MS,
        );
      }
    }

    afterAll(async () => {
      const images = SHOTS.flatMap(({ name }) => Object.keys(VIEWS).map((view) => `${name}-${view}.png`));
      const figure = (file: string): string =>
        `<figure><img src="${file}" alt="${file}" loading="lazy"><figcaption>${file}</figcaption></figure>`;
      const style =
        "body{font:14px sans-serif;display:flex;flex-wrap:wrap;gap:1rem}img{max-width:640px;border:1px solid #999}";
      await Bun.write(
        join(FOLDER, "index.html"),
        `<!doctype html><meta charset="utf-8"><title>svc</title><style>${style}</style>${images.map(figure).join("")}`,
      );
      console.log(`Wrote ${images.length} screenshots to screenshots/; open screenshots/index.html.`);
    });
  });
} else {
  test.skip("screenshots of the web interface: run npm run screenshots", () => undefined);
}
