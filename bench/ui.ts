// `bun bench/ui.ts`: processor time of the web interface in Chromium, and the sizes of its files. A conversation of 1,000 messages
// is opened, and a message typed in it; five times each, the median is printed. Then it is scrolled to its beginning, which renders all of
// it, and a message typed again.

import { basename } from "node:path";
import { type CDPSession, chromium, type Page } from "playwright-core";
import { uiBundle } from "../src/http/ui-bundle.ts";
import { append, type Conversation } from "../ui/state/conversation.ts";
import { emptyConversation, exportText } from "../ui/state/transfer.ts";

const MESSAGES = 1000;
const ROUNDS = 5;
const TYPED = "Some words that a person would type, one letter after the other.";

const ANSWER = `**Bold** and \`code\`, a list:

- one
- two

| a | b |
|---|---|
| 1 | 2 |

\`\`\`python
for i in range(10):
    print(i)
\`\`\`

${"A paragraph of an ordinary answer with some words. ".repeat(8)}
`;

function longConversation(): Conversation {
  let made = emptyConversation("long", Date.now());
  for (let i = 0; i < MESSAGES / 2; i++) {
    const question = { id: `q${i}`, parent: made.leaf, role: "user" as const, text: `Question ${i}` };
    made = append(made, { ...question, attachments: [] });
    const answer = { id: `a${i}`, parent: question.id, role: "assistant" as const, model: "m" };
    made = append(made, { ...answer, parts: [{ type: "text", text: ANSWER }], state: "done" });
  }
  return made;
}

/** The files of the page, and an API that has one model. */
async function serve() {
  const { outputs } = await Bun.build(uiBundle());
  const files = new Map(outputs.map((file) => [`/ui/${basename(file.path)}`, file]));
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ url }) => {
      const { pathname } = new URL(url);
      const file = files.get(pathname === "/ui/" ? "/ui/index.html" : pathname);
      if (file !== undefined) return new Response(file);
      if (pathname === "/v1/models")
        return Response.json({ data: [{ id: "m", status: "loaded", context_length: 131_072 }] });
      return Response.json({ error: { message: "not here" } }, { status: 404 });
    },
  });
  return { server, outputs };
}

/** Processor time of the page's main thread so far, milliseconds. */
async function cpuMs(session: CDPSession): Promise<number> {
  const { metrics } = await session.send("Performance.getMetrics");
  return (metrics.find(({ name }) => name === "TaskDuration")?.value ?? 0) * 1000;
}

async function settled(page: Page): Promise<void> {
  await page.evaluate(
    () =>
      new Promise((resolve) => requestAnimationFrame(() => requestIdleCallback(resolve, { timeout: 2000 }))),
  );
}

async function importFile(page: Page): Promise<void> {
  const chooser = page.waitForEvent("filechooser");
  await page.getByLabel("Import conversations").click();
  const buffer = Buffer.from(exportText([longConversation()]));
  await (await chooser).setFiles({ name: "long.json", mimeType: "application/json", buffer });
  await page.getByText("Imported 1 conversation").waitFor();
}

async function measureOpening(page: Page, session: CDPSession): Promise<number> {
  await page.getByRole("button", { name: "New conversation" }).click();
  await page.reload(); // so that it is read from storage
  await page.getByRole("link", { name: "Question 0" }).waitFor();
  await settled(page);
  const before = await cpuMs(session);
  await page.getByRole("link", { name: "Question 0" }).click();
  await page.getByText(`Question ${MESSAGES / 2 - 1}`, { exact: true }).waitFor();
  await settled(page);
  return (await cpuMs(session)) - before;
}

/** Milliseconds a key. */
async function measureTyping(page: Page, session: CDPSession): Promise<number> {
  await page.getByLabel("Message").fill("");
  await settled(page);
  const before = await cpuMs(session);
  await page.getByLabel("Message").pressSequentially(TYPED);
  await settled(page);
  return ((await cpuMs(session)) - before) / TYPED.length;
}

/** Scrolls to the first message: each step renders earlier ones. */
async function renderAll(page: Page): Promise<number> {
  const first = page.getByText("Question 0", { exact: true }).last();
  for (let step = 0; step < MESSAGES && (await page.locator(".question").count()) < MESSAGES / 2; step++) {
    await page.locator(".thread").evaluate((box) => (box.scrollTop = 0));
    await settled(page);
  }
  await first.waitFor();
  return page.locator(".question, .answer").count();
}

function median(values: readonly number[]): string {
  return (values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN).toFixed(1);
}

const path = process.env["CHROMIUM"] ?? Bun.which("chromium") ?? Bun.which("google-chrome");
if (path === null) throw new Error("Chromium was not found. Install it, or set CHROMIUM to its path.");
const { server, outputs } = await serve();
const browser = await chromium.launch({ executablePath: path, args: ["--no-sandbox", "--disable-gpu"] });
try {
  const page = await browser.newPage();
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  await page.goto(`${server.url.href}ui/`);
  await importFile(page);
  const opening: number[] = [];
  const typing: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    opening.push(await measureOpening(page, session));
    typing.push(await measureTyping(page, session));
  }
  const rendered = await renderAll(page);
  const typingInAll: number[] = [];
  for (let round = 0; round < ROUNDS; round++) typingInAll.push(await measureTyping(page, session));
  console.log(`| Measured (processor time, median of ${ROUNDS}) | ms |\n|---|---:|`);
  console.log(`| open a conversation of ${MESSAGES} messages | ${median(opening)} |`);
  console.log(`| type a letter in it | ${median(typing)} |`);
  console.log(`| type a letter with all ${rendered} messages rendered | ${median(typingInAll)} |`);
  console.log("\n| File | KB | KB, gzip |\n|---|---:|---:|");
  for (const file of outputs.toSorted((a, b) => b.size - a.size)) {
    if (/\.woff2?$/.test(file.path)) continue;
    const packed = Bun.gzipSync(new Uint8Array(await file.arrayBuffer())).byteLength;
    console.log(
      `| ${basename(file.path)} | ${Math.round(file.size / 1000)} | ${Math.round(packed / 1000)} |`,
    );
  }
} finally {
  await browser.close();
  await server.stop(true);
}
