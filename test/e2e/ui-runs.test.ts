// Answers of the web interface that outlive their connection, and conversations that outlive the server, through the compiled
// executable.

import { expect, test } from "bun:test";
import { join } from "node:path";
import { fileServer, launchServer, newFolder } from "../helpers/binary.ts";
import { describeInBrowser, visit } from "../helpers/browser.ts";
import { ask, COUNT_100, ENDLESS, postChat } from "../helpers/chat-client.ts";
import { parseDoneStream } from "../helpers/sse.ts";
import { until } from "../helpers/until.ts";

const SLOW_MS = 60_000;

/** The header of the web interface. */
const PAGE = { headers: { "x-svc-page": "1" } };

const held = (id: string, signal?: AbortSignal): RequestInit => ({
  headers: { "content-type": "application/json", "x-svc-run": id },
  ...(signal === undefined ? {} : { signal }),
});

/** Reads a response until it has some text. */
async function beginning(response: Response): Promise<void> {
  const reader = response.body?.getReader();
  let read = "";
  while (!read.includes("content")) read += new TextDecoder().decode((await reader?.read())?.value);
}

const textOf = (body: string): string =>
  parseDoneStream(body)
    .map(
      (chunk) => chunk as { readonly choices?: readonly { readonly delta: { readonly content?: string } }[] },
    )
    .map(({ choices }) => choices?.[0]?.delta.content ?? "")
    .join("");

const server = fileServer();

test("an answer whose client has left is there as a whole, and ends with its page's word", async () => {
  const { url } = server();
  const leaving = new AbortController();
  const id = "left-in-the-middle";
  const asked = postChat(url, ask(COUNT_100, { stream: true }), held(id, leaving.signal));
  await beginning(await asked);
  const resume = server().pauseEngine();
  leaving.abort();
  resume();
  const joined = await fetch(`${url}/ui/runs/${id}`, PAGE);
  expect(textOf(await joined.text())).toBe(COUNT_100.answer);

  const other = "stopped-by-its-page";
  const running = await postChat(url, ask(ENDLESS, { stream: true }), held(other));
  expect((await fetch(`${url}/ui/runs/${other}`, { method: "DELETE", ...PAGE })).status).toBe(204);
  expect(await running.text()).toContain("event: run_stopped");
  expect((await fetch(`${url}/ui/runs/never-begun-at-all`, PAGE)).status).toBe(404);
});

test("conversations on the server survive its restart, where the settings say so", async () => {
  const args = ["--ui-history", "server", "--state", `sqlite:${join(newFolder(), "state.db")}`];
  const first = await launchServer(args);
  const content = { title: "Kept" };
  const stored = await fetch(`${first.url}/ui/history/a?version=0`, {
    method: "PUT",
    headers: { "content-type": "application/json", ...PAGE.headers },
    body: JSON.stringify(content),
  });
  expect(await stored.json()).toEqual({ id: "a", version: 1, isDeleted: false });
  first.kill("SIGKILL");
  await first.stop();
  const second = await launchServer(args);
  expect(await (await fetch(`${second.url}/ui/history/a`, PAGE)).json()).toEqual(content);
  await second.stop();
  const without = await fetch(`${server().url}/ui/history`, PAGE);
  expect(await without.json()).toEqual({ conversations: null });
});

describeInBrowser("a server that is killed", () => {
  test(
    "leaves an honest page, which goes on with the next one",
    async () => {
      const first = await launchServer();
      const port = new URL(first.url).port;
      const { page } = await visit(first.url);
      await page.getByLabel("Message").fill(ENDLESS.content);
      await page.keyboard.press("Enter");
      await page.locator(".answer > .markdown").last().waitFor();
      first.kill("SIGKILL");
      await first.exited;
      await page.getByText("Reconnecting").waitFor();
      const second = await until("the port is free", () =>
        launchServer(["--port", port]).catch(() => undefined),
      );
      try {
        await page.getByText("The server no longer has the rest of this answer").waitFor();
        const kept = await page.locator(".answer > .markdown").innerText();
        await page.getByRole("button", { name: "Continue the answer" }).click();
        await page.getByText("2/2").waitFor();
        await page.locator(".figures").waitFor();
        expect(await page.locator(".answer > .markdown").innerText()).toStartWith(kept.trimEnd());
        expect(await page.getByRole("alert").count()).toBe(0);
      } finally {
        await second.stop();
        await first.stop();
      }
    },
    SLOW_MS,
  );
});
