// Screenshots of the web interface: every state on a desktop and on a phone, light and dark. `npm run screenshots` writes them to
// screenshots/, with a page to leaf through; without it nothing runs.

import { afterAll, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { BrowserContextOptions, Page } from "playwright-core";
import { append, type Conversation, type Part } from "../../ui/state/conversation.ts";
import { emptyConversation, exportText } from "../../ui/state/transfer.ts";
import { describeInBrowser, visit } from "../helpers/browser.ts";
import { pdfOf } from "../helpers/documents.ts";
import { answer } from "../helpers/run-events.ts";
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

const TEXT = `The difference is one of **growth**. A linear search looks at each element, a binary search halves what is left:

| Elements | Linear | Binary |
|---:|---:|---:|
| 1,000 | 1,000 | 10 |
| 1,000,000 | 1,000,000 | 20 |

It needs $\\lceil \\log_2 n \\rceil$ steps, and a sorted list:

\`\`\`python
def find(items, wanted):
    low, high = 0, len(items) - 1
    while low <= high:
        middle = (low + high) // 2
        if items[middle] == wanted:
            return middle
        if items[middle] < wanted:
            low = middle + 1
        else:
            high = middle - 1
    return None
\`\`\`

- Sorting costs $O(n \\log n)$, so it pays off from the second search on.
- For a few dozen elements, a linear search is just as quick.
`;

const CHART = `\`\`\`mermaid
graph LR
  Question --> Search
  Search --> Passages
  Passages --> Answer
\`\`\`
`;

const figures = {
  promptTokens: 412,
  cachedTokens: 380,
  completionTokens: 286,
  reasoningTokens: 90,
  speed: 41.2,
  totalSecs: 7.1,
};

function conversation(
  id: string,
  title: string,
  turns: readonly (readonly [string, readonly Part[]])[],
): Conversation {
  let made: Conversation = { ...emptyConversation(id, Date.now()), title };
  turns.forEach(([text, parts], i) => {
    const question = { id: `${id}q${i}`, parent: made.leaf, role: "user" as const, text, attachments: [] };
    made = append(made, question);
    const said = { id: `${id}a${i}`, parent: question.id, role: "assistant" as const, model: "Qwen3-8B" };
    made = append(made, { ...said, parts: [...parts], state: "done", figures, firstTokenMs: 210 });
  });
  return made;
}

const text = (content: string): Part => ({ type: "text", text: content });
const talk = conversation("talk", "Linear and binary search", [
  ["When is a binary search worth it?", [{ type: "reasoning", text: "They ask about costs." }, text(TEXT)]],
]);
const tools = conversation("tools", "Rainfall of last year", [
  [
    "Plot the rainfall in rain.csv.",
    [
      {
        type: "tool",
        round: 1,
        name: "code_interpreter",
        input: {
          tool_type: "code_execution",
          code: "import csv\nrows = list(csv.reader(open('rain.csv')))\nprint(len(rows))",
        },
        output: { tool_type: "code_execution", stdout: "366\n", execution_time_ms: 12 },
      },
      text("The file has a row for each day. The wettest month was **November**, with 143 mm."),
    ],
  ],
]);
const chart = conversation("chart", "How passages are found", [["Draw how search works.", [text(CHART)]]]);
const others = ["Packing list for the Alps", "Letter to the landlord", "Names for a cat"].map((title, i) =>
  conversation(`other${i}`, title, [[title, [text("…")]]]),
);
const ALL: readonly Conversation[] = [
  { ...talk, pinned: true, tags: ["work"] },
  tools,
  chart,
  ...others.map((one, index) => ({ ...one, tags: ["home"], ...(index < 2 ? { folder: "Household" } : {}) })),
];

const machine = {
  memory_total_bytes: 32 * GIB,
  memory_free_bytes: 21 * GIB,
  disk_free_bytes: 210 * GIB,
  models_bytes: 12 * GIB,
  models_max_bytes: null,
};
const repository = (id: string, parameters: number, downloads: number) => ({
  id,
  access: "public",
  downloads,
  license: "apache-2.0",
  architecture: "qwen3",
  parameters,
  context_length: 40_960,
  downloaded: false,
});
const choice = (quantization: string, gib: number, fit: string) => ({
  id: `Qwen/Qwen3-14B-GGUF:${quantization}`,
  quantization,
  files: [],
  size_bytes: gib * GIB,
  projector: null,
  draft: null,
  download_bytes: gib * GIB,
  memory_bytes: (gib + 1.6) * GIB,
  fit,
  is_default: quantization === "Q4_K_M",
  downloaded: false,
});

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
      await page.getByLabel("Conversation settings").first().click();
      await page.getByLabel("Language").selectOption("de");
      await page.getByRole("button", { name: "Einstellungen schließen" }).click();
      const show = page.getByLabel("Unterhaltungen einblenden");
      if ((await show.count()) > 0) await show.click();
      await page.getByRole("link", { name: /Linear and binary search/ }).click();
      await page.locator("math").last().waitFor();
    },
  },
];

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
            { ...served, modalities: [], capabilities },
            { ...sees, modalities: ["image"], capabilities: { ...capabilities, vision: true } },
          ];
      route("/v1/models", { data: cards });
      const tool = (name: string, description: string) => ({ name, description });
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
            problem: "it responded with HTTP status 401",
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
      route("/v1/hub/search", {
        data: [
          repository("Qwen/Qwen3-14B-GGUF", 14_800_000_000, 81_234),
          repository("Qwen/Qwen3-4B-GGUF", 4_000_000_000, 64_120),
        ],
      });
      route("/v1/hub/models/Qwen/Qwen3-14B-GGUF", {
        models: [
          choice("Q4_K_M", 8.4, "fits"),
          choice("Q8_0", 14.6, "tight"),
          choice("F16", 27.5, "too_large"),
        ],
      });
    };

    for (const [view, options] of Object.entries(VIEWS)) {
      for (const { name, isNew = false, conversations = ALL, act } of SHOTS) {
        test(
          `${name} ${view}`,
          async () => {
            serve(isNew);
            const { page } = await visit(ui.url(), options);
            await page.getByLabel("Message").waitFor();
            await importAll(page, conversations);
            await act(page);
            mkdirSync(FOLDER, { recursive: true });
            await page.screenshot({ path: join(FOLDER, `${name}-${view}.png`), animations: "disabled" });
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
