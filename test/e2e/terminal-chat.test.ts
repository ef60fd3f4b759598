// `svc run`: one answer for a script, a conversation for a person.

import { beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  HAS_TERMINAL,
  newFolder,
  openTerminal,
  runBinary,
  runShell,
  type Terminal,
} from "../helpers/binary.ts";
import { CAPITAL, ENDLESS } from "../helpers/chat-client.ts";
import { pdfOf } from "../helpers/documents.ts";
import { within } from "../helpers/until.ts";

let cwd = "";
beforeAll(() => {
  cwd = newFolder();
  // The seed makes the answers the same each time: `run` draws at temperature 1.
  writeFileSync(
    join(cwd, "chat.toml"),
    'command = "run"\n[global]\nseed = 1\n[[models]]\nmodel_id = "svc-tiny"\n',
  );
});

describe("one answer", () => {
  test("piped text is answered once, on stdout, without reasoning", async () => {
    const answer = await runBinary(["run", "chat.toml"], { cwd, stdin: `${CAPITAL.content}\n` });
    expect(answer).toEqual({ exit: 0, out: `${CAPITAL.answer}\n`, err: "" });
  });

  test.each(["run chat.toml", "from-config -f chat.toml"])("-i, by way of %s", async (words) => {
    const answer = await runBinary([...words.split(" "), "-i", CAPITAL.content], { cwd });
    expect(answer).toEqual({ exit: 0, out: `${CAPITAL.answer}\n`, err: "" });
  });

  test("the defaults of the model apply, or those of an alias", async () => {
    writeFileSync(
      join(cwd, "short.toml"),
      '[global]\nseed = 1\n[[models]]\nmodel_id = "svc-tiny"\n[models.defaults]\nmax_tokens = 2\nthinking = false\n',
    );
    const { exit, out } = await runBinary(["run", "short.toml", "-i", CAPITAL.content], { cwd });
    expect(exit).toBe(0);
    expect(CAPITAL.answer).toStartWith(out.trim());
    expect(out.trim().length).toBeLessThan(CAPITAL.answer.length);
    writeFileSync(
      join(cwd, "aliases.toml"),
      '[[models]]\nmodel_id = "svc-tiny"\n[[aliases]]\nname = "brief"\nmodel = "default"\ndefaults = { max_tokens = 2, thinking = false }\n',
    );
    const brief = await runBinary(["run", "aliases.toml", "--assistant", "brief", "-i", CAPITAL.content], {
      cwd,
    });
    expect([brief.exit, brief.out]).toEqual([0, out]);
    const named = await runBinary(["run", "aliases.toml", "-m", "brief", "-i", CAPITAL.content], { cwd });
    expect([named.exit, named.out]).toEqual([0, out]);
    const absent = await runBinary(["run", "aliases.toml", "--assistant", "long", "-i", "Hi"], { cwd });
    expect([absent.exit, absent.err]).toEqual([
      1,
      expect.stringContaining("no alias is named long: there are brief"),
    ]);
  });

  test("no text at all is a mistake, 2", async () => {
    const answer = await runBinary(["run", "chat.toml"], { cwd, stdin: "" });
    expect([answer.exit, answer.out]).toEqual([2, ""]);
  });

  test("the prompt as words, with a file", async () => {
    writeFileSync(join(cwd, "note.txt"), "Nothing of interest.");
    const answer = await runBinary(["run", "chat.toml", ...CAPITAL.content.split(" ")], { cwd });
    expect(answer).toEqual({ exit: 0, out: `${CAPITAL.answer}\n`, err: "" });
    writeFileSync(join(cwd, "report.pdf"), pdfOf(["The secret word is banana."]));
    const files = ["--attach", "note.txt", "--attach", "report.pdf"];
    const { exit, out, err } = await runBinary(
      ["run", "chat.toml", ...files, "--temperature", "0", "--think", "off", "What is the secret word?"],
      { cwd },
    );
    expect(out).toContain("banana");
    expect([exit, err]).toEqual([0, ""]);
    const absent = await runBinary(["run", "chat.toml", "--attach", "absent.txt", "-i", "Hi"], { cwd });
    expect(absent).toEqual({ exit: 2, out: "", err: "svc: no such file: absent.txt\n" });
  });

  test("a reader that has seen enough ends it without a complaint", async () => {
    const line = `{ "$0" run chat.toml -i "${ENDLESS.content}"; echo $? >&2; } | head -c 4`;
    expect(await runShell(line, { cwd })).toEqual({ exit: 0, out: "1, 2", err: "0\n" });
  });

  test("a file that says run wins over the word serve, and that is said", async () => {
    const { exit, out, err } = await runBinary(["serve", "chat.toml"], { cwd, stdin: CAPITAL.content });
    expect([exit, out]).toEqual([0, `${CAPITAL.answer}\n`]);
    expect(err).toContain('chat.toml says command = "run"');
  });
});

describe("on a terminal (needs script of util-linux)", () => {
  const PROMPT = /\r\n[^\r\n]*> [^\r\n]*$/;

  /** Asks and returns what is shown up to the next prompt. */
  async function say(terminal: Terminal, text: string): Promise<string> {
    terminal.type(`${text}\r`);
    return terminal.shows(PROMPT);
  }

  test.skipIf(!HAS_TERMINAL)("a conversation, Ctrl-C in an answer, /exit", async () => {
    const terminal = openTerminal("run chat.toml", cwd);
    const beginning = await terminal.shows(PROMPT);
    expect(beginning).toContain("Chatting with svc-tiny (4096 tokens of context");
    expect(beginning).not.toContain("Tools:");
    expect(await say(terminal, CAPITAL.content)).toContain(CAPITAL.answer);

    terminal.type(`${ENDLESS.content}\r`);
    await terminal.shows(/1, 2, 3/);
    const engine = terminal.enginePid();
    process.kill(engine, "SIGSTOP"); // in the middle of the answer, for as long as it takes
    terminal.type("\x03");
    const rest = await terminal.shows(PROMPT);
    expect(rest).not.toContain("/exit leaves"); // Ctrl-C was for the answer alone
    process.kill(engine, "SIGCONT");

    terminal.type("\x1a"); // Ctrl-Z, and `fg` until it has been read
    const server = Number(/^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${engine}/status`, "utf8"))?.[1]);
    const foreground = setInterval(() => process.kill(server, "SIGCONT"), 20);
    // Pasted text is marked again, which the shell had switched off.
    await terminal.shows(/\[\?2004h.*> /).finally(() => clearInterval(foreground));
    expect(await say(terminal, "/stats")).toContain("1 answer ");
    expect(await say(terminal, "/clear")).toContain("cleared");
    expect(await say(terminal, CAPITAL.content)).toContain(CAPITAL.answer);
    expect(terminal.enginePid()).toBe(engine);
    terminal.type("/exit\r");
    expect(await within(5_000, "it ends", terminal.exited)).toBe(0);
  });

  test.skipIf(!HAS_TERMINAL)("what the model may use is said at the beginning", async () => {
    const terminal = openTerminal("run chat.toml --enable-search --enable-shell", cwd);
    const beginning = await terminal.shows(PROMPT);
    expect(beginning).toMatch(/Tools: shell \S+ \(.*permission: auto\), web search \(duckduckgo\)\./);
    terminal.type("/exit\r");
    expect(await within(5_000, "it ends", terminal.exited)).toBe(0);
  });

  test.skipIf(!HAS_TERMINAL)(
    "a terminal without escape sequences gets none; Ctrl-C twice leaves with 0",
    async () => {
      const terminal = openTerminal("run chat.toml", cwd, "TERM=dumb");
      const shown = await terminal.shows(PROMPT);
      const answer = await say(terminal, CAPITAL.content);
      terminal.type("\x03");
      const warned = await terminal.shows(/Ctrl-C again or \/exit leaves/);
      expect(answer).toContain(CAPITAL.answer);
      expect(shown + answer + warned).not.toContain("\x1b");
      terminal.type("\x03");
      expect(await within(5_000, "it ends", terminal.exited)).toBe(0);
    },
  );

  test.skipIf(!HAS_TERMINAL)("lines come back in the next chat; a pasted one is one line", async () => {
    const first = openTerminal("run chat.toml", cwd);
    await first.shows(PROMPT);
    await say(first, "\x1b[200~/system one\rtwo\x1b[201~");
    first.type("/exit\r");
    expect(await within(5_000, "it ends", first.exited)).toBe(0);

    const second = openTerminal("run chat.toml", cwd);
    await second.shows(PROMPT);
    second.type("\x1b[A\x1b[A");
    await second.shows(/\/system one\u2424two/);
    expect(await say(second, "")).toContain("The system prompt is set.");
    second.type("/te\t");
    await second.shows(/\/temperature/);
    expect(await say(second, " 0.5")).toContain("The temperature is 0.5.");
    second.type("/exit\r");
    expect(await within(5_000, "it ends", second.exited)).toBe(0);
  });

  test.skipIf(!HAS_TERMINAL)("NO_COLOR is honoured, and looks are there without it", async () => {
    for (const [env, has] of [
      ["NO_COLOR=1", false],
      ["NO_COLOR=", true],
    ] as const) {
      const terminal = openTerminal("run chat.toml", cwd, env);
      await terminal.shows(PROMPT);
      const shown = await say(terminal, CAPITAL.content);
      expect(shown.includes("\u001b[2m")).toBe(has); // the dimmed line below
      terminal.type("/exit\r");
      expect(await within(5_000, "it ends", terminal.exited)).toBe(0);
    }
  });

  test.skipIf(!HAS_TERMINAL || Bun.which("python3") === null)(
    "Python runs when it is allowed, and its file can be fetched",
    async () => {
      const folder = newFolder();
      const terminal = openTerminal(
        "run --enable-code-execution --agent-permission ask",
        folder,
        "NO_COLOR=1",
      );
      await terminal.shows(PROMPT);
      await say(terminal, "/temperature 0");
      terminal.type("Use python to compute 17*23.\r");
      expect(await terminal.shows(/in this conversation: /)).toContain("print(17*23)");
      const denied = await say(terminal, "");
      expect(denied).not.toContain("391");
      terminal.type("/regenerate\r");
      await terminal.shows(/in this conversation: /);
      const answer = await say(terminal, "a");
      expect(answer).toContain("  391");
      expect(answer).toContain("The result is: 391");

      terminal.type("Use python to save hello to data.txt\r");
      // "always" was meant for the whole conversation.
      const created = new RegExp(`created data.txt \\(5 bytes\\)[^]*${PROMPT.source}`);
      expect(await terminal.shows(created)).not.toContain("in this conversation");
      expect(await say(terminal, "/get data.txt")).toContain("data.txt is written.");
      expect(readFileSync(join(folder, "data.txt"), "utf8")).toBe("hello");
      terminal.type("/exit\r");
      expect(await within(10_000, "it ends", terminal.exited)).toBe(0);
    },
  );
});
