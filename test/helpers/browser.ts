// A real browser for the web interface: Chromium, if installed.

import { beforeAll, describe, expect, onTestFinished } from "bun:test";
import axe from "axe-core";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

const PATH =
  process.env["CHROMIUM"] ??
  Bun.which("chromium") ??
  Bun.which("chromium-browser") ??
  Bun.which("google-chrome");

/**
 * What a browser without a window does for nobody. Of several such flags the last one counts, so this holds Playwright's own, as far
 * as they concern Debian's Chromium. Its address bar alone loads two pages of its own for every context, half of the work of a visit.
 */
const DISABLED_FEATURES = [
  "AimEnabled",
  "AvoidCorsURLLoaderRestartOnRedirect",
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "DestroyProfileOnBrowserClose",
  "HttpsFirstBalancedModeAutoEnable",
  "HttpsUpgrades",
  "LensOverlay",
  "MediaRouter",
  "NetworkTimeServiceQuerying",
  "OptimizationHints",
  "PaintHolding",
  "PreconnectToSearch",
  "SpareRendererForSitePerProcess",
  "ThirdPartyStoragePartitioning",
  "WebUIOmniboxAimPopup",
  "WebUIOmniboxFullPopup",
  "WebUIOmniboxPopup",
];

/** No GPU, no background traffic, and no sandbox, which is unavailable to root and in containers. */
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--use-fake-device-for-media-stream",
  "--host-resolver-rules=MAP *.lan 127.0.0.1",
  `--disable-features=${DISABLED_FEATURES.join(",")}`,
];

/** The same server under a name of a local network: plain HTTP there is no secure context, as on a phone. */
export function overLan(url: string, name = "svc.lan"): string {
  return url.replace("127.0.0.1", name);
}

/** Longest time for one action, and for a browser to start on a busy machine, milliseconds. */
const ACTION_MS = 20_000;
const LAUNCH_MS = 60_000;

/** One browser for all files of a process. It ends with the process, whose pipe to it closes. */
let browser: Browser | undefined;

/** A group of tests with a browser. Without a browser they are skipped with a warning. */
export function describeInBrowser(name: string, tests: () => void): void {
  if (PATH === null)
    console.warn(`SKIPPED: ${name}: Chromium not found; install it, or set CHROMIUM to its path`);
  describe.skipIf(PATH === null)(name, () => {
    beforeAll(async () => {
      if (browser?.isConnected() === true) return;
      browser = await chromium.launch({ executablePath: PATH ?? "", args: FLAGS, timeout: LAUNCH_MS });
    }, LAUNCH_MS);
    tests();
  });
}

export interface Visit {
  readonly page: Page;
  /** Script errors and violations of the page's security policy. */
  readonly troubles: readonly string[];
}

/** A page in a fresh profile, which ends with the test. */
export async function blankPage(options: BrowserContextOptions = {}): Promise<Page> {
  if (browser === undefined) throw new Error("the browser is only available inside tests");
  const context = await browser.newContext(options);
  onTestFinished(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(ACTION_MS);
  return page;
}

/** Opens the interface of a server in a fresh profile. Fails the test if the page sends a request to another server. */
export async function visit(url: string, options: BrowserContextOptions = {}): Promise<Visit> {
  const page = await blankPage({ viewport: { width: 1280, height: 800 }, ...options });
  const troubles: string[] = [];
  const foreignRequests: string[] = [];
  page.on("pageerror", (error) => troubles.push(error.message));
  page.on("console", (message) => {
    if (/Content Security Policy|Trusted/.test(message.text())) troubles.push(message.text());
  });
  page.on("request", (request) => {
    const address = request.url();
    if (!/^(?:blob|data):/.test(address) && !address.startsWith(`${url}/`)) foreignRequests.push(address);
  });
  onTestFinished(() => expect(foreignRequests).toEqual([]));
  // Links to pages appear when the server's routes are known; a click before that can miss a link that moves.
  const routes = page.waitForResponse(`${url}/api-doc/openapi.json`);
  await page.goto(`${url}/ui/`);
  await routes;
  return { page, troubles };
}

/** Sends a message and waits until its answer is complete. */
export async function say(page: Page, text: string): Promise<void> {
  const before = await page.getByLabel("Regenerate answer").count();
  await page.getByLabel("Message").fill(text);
  await page.getByLabel("Send").click();
  await page.getByLabel("Regenerate answer").nth(before).waitFor();
}

/** How many records an object store of a database of the page's origin has. */
export function storedRecords(page: Page, database: string, store: string): Promise<number> {
  return page.evaluate(
    (from) =>
      new Promise<number>((resolve, reject) => {
        const opening = indexedDB.open(from.database);
        opening.onerror = () => reject(new Error("the database cannot be opened"));
        opening.onsuccess = () => {
          const counting = opening.result.transaction(from.store).objectStore(from.store).count();
          counting.onsuccess = () => (opening.result.close(), resolve(counting.result));
        };
      }),
    { database, store },
  );
}

/** Accessibility violations of a page, found by axe. It injects a script, so the page's policy must be disabled. */
export async function violations(page: Page): Promise<readonly string[]> {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe.source);
  const found = await page.evaluate(async () => {
    const { axe: tool } = globalThis as unknown as { readonly axe: typeof axe };
    return (await tool.run()).violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html ?? ""}`);
  });
  return found;
}

/** The same with the colours of both schemes. */
export async function violationsInColors(page: Page): Promise<readonly string[]> {
  const found: string[] = [];
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    found.push(...(await violations(page)).map((violation) => `${colorScheme}: ${violation}`));
  }
  return found;
}

/** Bytes per second at which the built-in model's longest answer takes half a minute. */
const THROTTLED_RATE = 4096;

/** Throttles a page's downloads until `lift`, so that an answer is still running when the test acts on it. */
export async function throttle(page: Page): Promise<{ lift(): Promise<void> }> {
  const session = await page.context().newCDPSession(page);
  const receiveAt = async (downloadThroughput: number): Promise<void> => {
    const line = { offline: false, latency: 0, uploadThroughput: -1, downloadThroughput };
    await session.send("Network.emulateNetworkConditions", line);
  };
  await receiveAt(THROTTLED_RATE);
  return { lift: () => receiveAt(-1) };
}

/** Chooses the model of the conversation by its name. */
export async function chooseModel(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name: /^Model: / }).click();
  await page.getByRole("option", { name }).first().click();
}
