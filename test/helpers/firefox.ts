// Firefox over WebDriver BiDi, for what a browser of another make must do, too. playwright-core sends Debian's Firefox commands that it
// does not have, so this is a client of the few that a test needs.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DrivenPage, keyActions } from "./driven-page.ts";
import { until } from "./until.ts";

export const FIREFOX = process.env["FIREFOX"] ?? Bun.which("firefox-esr") ?? Bun.which("firefox");

const START_MS = 60_000;

interface Reply {
  readonly id?: number;
  readonly type?: string;
  readonly message?: string;
  readonly result?: Readonly<Record<string, unknown>>;
}

/** Opens a page in a fresh profile. */
export async function openInFirefox(address: string): Promise<DrivenPage> {
  const profile = mkdtempSync(join(tmpdir(), "svc-firefox-"));
  const flags = ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"];
  const env = { ...process.env, HOME: profile };
  const child = Bun.spawn([FIREFOX ?? "", ...flags, "about:blank"], {
    env,
    stdout: "ignore",
    stderr: "pipe",
  });
  const stop = async (): Promise<void> => {
    child.kill();
    await child.exited;
    rmSync(profile, { recursive: true, force: true });
  };
  try {
    const send = await connect(await addressOf(child.stderr));
    await send("session.new", { capabilities: {} });
    const { context } = await send("browsingContext.create", { type: "tab" });
    await send("browsingContext.navigate", { context, url: address, wait: "complete" });
    const evaluate = async (expression: string): Promise<unknown> => {
      const target = { context };
      const options = { expression, target, awaitPromise: true, resultOwnership: "none" };
      const { type, result, exceptionDetails } = await send("script.evaluate", options);
      if (type === "exception") throw new Error(JSON.stringify(exceptionDetails));
      return (result as { readonly value?: unknown }).value;
    };
    return {
      evaluate,
      run: async (statements) => void (await evaluate(`${statements}; undefined`)),
      type: async (text) => void (await send("input.performActions", { context, actions: keyActions(text) })),
      close: stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The address that Firefox prints when it listens. */
async function addressOf(stderr: ReadableStream<Uint8Array>): Promise<string> {
  let printed = "";
  const reading = (async () => {
    for await (const chunk of stderr) printed += new TextDecoder().decode(chunk);
  })();
  reading.catch(() => undefined); // it ends with the process
  return until(
    "Firefox listens",
    () => /WebDriver BiDi listening on (?<at>ws:\S+)/.exec(printed)?.groups?.["at"],
    START_MS,
  );
}

type Send = (method: string, params: object) => Promise<Readonly<Record<string, unknown>>>;

async function connect(address: string): Promise<Send> {
  const socket = new WebSocket(`${address}/session`);
  const waiting = new Map<number, (reply: Reply) => void>();
  socket.addEventListener("message", ({ data }) => {
    const reply = JSON.parse(String(data)) as Reply;
    if (reply.id !== undefined) waiting.get(reply.id)?.(reply);
  });
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve);
    socket.addEventListener("error", () => reject(new Error("Firefox refused the connection")));
  });
  let last = 0;
  return async (method, params) => {
    const id = ++last;
    const reply = await new Promise<Reply>((resolve) => {
      waiting.set(id, resolve);
      socket.send(JSON.stringify({ id, method, params }));
    });
    if (reply.type === "error") throw new Error(`${method}: ${reply.message}`);
    return reply.result ?? {};
  };
}
