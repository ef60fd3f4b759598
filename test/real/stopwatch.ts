// How far a person is from a first answer of a real model, and from a tool that asked for approval: clicks, keys and seconds from
// the start of the executable, printed, and bounded where they do not depend on the machine.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Page } from "playwright-core";
import { launchServer, newFolder } from "../helpers/binary.ts";
import { describeInBrowser, visit } from "../helpers/browser.ts";
import { FILES, realFile } from "./models.ts";

const SMOLLM = await realFile(FILES.smollm);
const START_MS = 300_000;

/** Counts what a person does on a page. */
function counted(page: Page) {
  const done = { clicks: 0, keys: 0 };
  return {
    done,
    click: async (name: string): Promise<void> => {
      done.clicks++;
      await page.getByRole("button", { name }).click();
    },
    check: async (name: string): Promise<void> => {
      done.clicks++;
      await page.getByLabel(name).check();
    },
    /** Typing a text counts as its Enter alone. */
    send: async (text: string): Promise<void> => {
      done.keys++;
      await page.getByLabel("Message").fill(text);
      await page.keyboard.press("Enter");
    },
  };
}

/** Starts the executable, acts on its page, and prints the way. */
async function timed(
  what: string,
  args: readonly string[],
  act: (page: Page, person: ReturnType<typeof counted>) => Promise<void>,
): Promise<{ readonly clicks: number; readonly keys: number }> {
  const began = performance.now();
  const server = await launchServer(args);
  try {
    const { page } = await visit(server.url);
    const person = counted(page);
    await act(page, person);
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    console.log(
      `${what}: ${person.done.clicks} clicks, ${person.done.keys} Enter, ${seconds} s from the start`,
    );
    return person.done;
  } finally {
    await server.stop();
  }
}

describeInBrowser("from the start to", () => {
  test.skipIf(SMOLLM === undefined)(
    "a first answer of a real model in a folder",
    async () => {
      const folder = ["--models-dir", dirname(SMOLLM ?? "")];
      const way = await timed("first answer", folder, async (page, { send }) => {
        await send("What is the capital of France?");
        await page.locator(".answer").getByText(/\w/).first().waitFor();
      });
      expect(way).toEqual({ clicks: 0, keys: 1 });
    },
    START_MS,
  );

  test(
    "the result of a tool that asked for approval",
    async () => {
      const file = join(newFolder(), "svc.toml");
      writeFileSync(
        file,
        '[runtime]\nenable_shell = true\nagent_permission = "ask"\n[[models]]\nmodel_id = "svc-tiny"\n[models.defaults]\ntemperature = 0.0\n',
      );
      const way = await timed("tool with approval", [file], async (page, { click, check, send }) => {
        await click("Tools: none on");
        await check("Run shell commands");
        await send("Run this command: echo hello");
        await click("Approve");
        await page.getByLabel("Shell: echo hello").waitFor();
        await page.getByLabel("Regenerate answer").waitFor();
      });
      expect(way).toEqual({ clicks: 3, keys: 1 });
    },
    START_MS,
  );
});
