// WebKitGTK's MiniBrowser over its WebDriver, on a display in memory: the engine of Safari and of GNOME Web.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DrivenPage, keyActions } from "./driven-page.ts";
import { freePort } from "./free-port.ts";
import { until } from "./until.ts";

const DRIVER = Bun.which("WebKitWebDriver");
const DISPLAY = Bun.which("Xvfb");
const START_MS = 60_000;

/** What is missing; undefined if WebKitGTK can be driven. */
export const WEBKIT_LACKS =
  DRIVER === null ? "WebKitWebDriver (webkit2gtk-driver)" : DISPLAY === null ? "Xvfb (xvfb)" : undefined;

/** Opens a page in a fresh profile. */
export async function openInWebKit(address: string): Promise<DrivenPage> {
  const home = mkdtempSync(join(tmpdir(), "svc-webkit-"));
  const screen = Bun.spawn(
    [DISPLAY ?? "", "-displayfd", "1", "-screen", "0", "1280x800x24", "-nolisten", "tcp"],
    {
      stdout: "pipe",
      stderr: "ignore",
    },
  );
  const number = await firstLine(screen.stdout);
  const port = freePort();
  const env = {
    ...process.env,
    DISPLAY: `:${number}`,
    LANG: "en_US.UTF-8", // of C the browser makes a language tag that its own Intl refuses
    LC_ALL: "en_US.UTF-8",
    HOME: home,
    LIBGL_ALWAYS_SOFTWARE: "1",
    WEBKIT_DISABLE_COMPOSITING_MODE: "1",
    WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: "1", // as in the other browsers: root and containers have none
  };
  const driver = Bun.spawn([DRIVER ?? "", `--port=${port}`], { env, stdout: "ignore", stderr: "ignore" });
  let session: string | undefined;
  const send = async (method: string, path: string, body?: object): Promise<unknown> => {
    const init = { method, ...(body && { body: JSON.stringify(body) }) };
    const response = await fetch(`http://127.0.0.1:${port}/session${path}`, init);
    const { value } = (await response.json()) as { readonly value: unknown };
    if (!response.ok) throw new Error(`${method} ${path}: ${JSON.stringify(value)}`);
    return value;
  };
  const close = async (): Promise<void> => {
    if (session !== undefined) await send("DELETE", `/${session}`).catch(() => undefined); // ends the browser
    for (const child of [driver, screen]) {
      child.kill();
      await child.exited;
    }
    rmSync(home, { recursive: true, force: true });
  };
  try {
    const created = await until(
      "WebKitWebDriver answers",
      () => send("POST", "", { capabilities: { alwaysMatch: {} } }).catch(() => undefined),
      START_MS,
    );
    session = (created as { readonly sessionId: string }).sessionId;
    const at = `/${session}`;
    await send("POST", `${at}/url`, { url: address });
    return {
      evaluate: async (expression) => {
        const script = `const done = arguments[0];
          Promise.resolve().then(() => (${expression})).then((value) => done({ value }), (error) => done({ error: String(error) }))`;
        const result = (await send("POST", `${at}/execute/async`, { script, args: [] })) as {
          readonly value?: unknown;
          readonly error?: string;
        };
        if (result.error !== undefined) throw new Error(result.error);
        return result.value;
      },
      run: async (statements) =>
        void (await send("POST", `${at}/execute/sync`, { script: statements, args: [] })),
      type: async (text) => void (await send("POST", `${at}/actions`, { actions: keyActions(text) })),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  for await (const chunk of stream) {
    text += new TextDecoder().decode(chunk);
    if (text.includes("\n")) break;
  }
  return text.split("\n", 1)[0] ?? "";
}
