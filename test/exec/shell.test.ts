// Shell sessions in a real sandbox.

import { beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openShell } from "../../src/exec/shell/sessions.ts";
import type { ShellCall, ShellResult, ShellSessions } from "../../src/exec/types.ts";
import { SHELL_CALLS_KEPT_MAX } from "../../src/exec/limits.ts";
import { processes } from "../../src/sandbox/processes.ts";
import {
  closeExecutors,
  commands,
  HAS_PYTHON,
  NEVER,
  PYTHON,
  sandboxWith,
  shellWith,
  testIf,
  TIMEOUT_SECS,
} from "../helpers/real-executors.ts";
import { wordsOf } from "../helpers/processes.ts";
import { until, within } from "../helpers/until.ts";
import { sharedDir, tempDir } from "../helpers/tmp.ts";

closeExecutors();

const pythonTest = testIf(HAS_PYTHON, "memory of background processes: needs python3");

let shell: ShellSessions;

beforeAll(async () => {
  shell = await shellWith();
});

const run = (lines: readonly string[], call: Partial<ShellCall> = {}): Promise<ShellResult> =>
  shell.run(commands(lines, call), NEVER);

describe("a call", () => {
  test("lines are one script; its last command sets the status", async () => {
    expect(await run(["x=1", "false", "echo $x", "cd /", "pwd"])).toMatchObject({
      status: "success",
      stdout: "1\n/\n",
      exitCode: 0,
      timedOut: false,
    });
    expect(await run(["echo no >&2", "exit 3"])).toMatchObject({
      status: "error",
      stderr: "no\n",
      exitCode: 3,
    });
  });

  test("files persist, variables do not", async () => {
    const first = await run(["V=1; echo $V > kept.txt"]);
    const second = await run(['cat kept.txt; echo "[$V]"; pwd']);
    expect(second.stdout).toBe(`1\n[]\n${first.workingDirectory}\n`);
    expect(first.files.map(({ name }) => name)).toEqual(["kept.txt"]);
    expect(second.files).toEqual([]);
  });

  test("stdin is empty", async () => {
    expect((await run(["cat; echo done"])).stdout).toBe("done\n");
  });

  test("a script of 300 KB runs, with characters of all sizes and no arguments", async () => {
    const text = "aé€😀".repeat(30_000);
    const lines = [
      "x=1; cat > big <<'END'",
      text,
      "END",
      'wc -c < big; echo "$#$x$svc_script"',
      "tail -c 10 big",
    ];
    const { stdout, stderr } = await run(lines, { sessionId: "long" });
    expect({ stdout, stderr }).toEqual({ stdout: "300001\n01\né€😀\n", stderr: "" });
  });

  test("a script above 1 MiB is refused with its size", async () => {
    const refusal = await run(["echo ".padEnd(2 ** 20 + 1, "x")]).catch(String);
    expect(refusal).toInclude("1048577 bytes; at most 1048576");
  });

  test("a closed pipe ends its writer", async () => {
    expect((await run(["yes | head -n 1"])).stdout).toBe("y\n");
  });

  test.each([[[]], [["", "  "]]])("%j is no call", (lines) => {
    expect(run(lines)).rejects.toMatchObject({ code: "invalid_request", param: "commands" });
  });
});

describe("output", () => {
  test("is limited to 4096 characters by default, from the start and the end", async () => {
    const lines = ["i=0; while [ $i -lt 2000 ]; do echo $i; i=$((i+1)); done"];
    const short = await run(lines);
    expect(short.stdout).toStartWith("0\n1\n");
    expect(short.stdout).toEndWith("1998\n1999\n");
    expect(short.stdout).toContain(" bytes left out …]");
    expect(short.stdout.length).toBeLessThanOrEqual(4096);
    expect((await run(lines, { maxOutputLength: 100_000 })).stdout).toEndWith("1999\n");
    expect((await run(["echo äöüß"], { maxOutputLength: 2 })).stdout).toBe("äö");
  });
});

describe("timeouts", () => {
  test("keep the output so far and kill all processes", async () => {
    const marker = `8${process.pid}00`;
    const late = await run([`echo begun; (sleep ${marker}) & setsid sleep ${marker} & sleep ${marker}`], {
      timeoutMs: 500,
    });
    expect(late).toMatchObject({ status: "timeout", timedOut: true, exitCode: null, stdout: "begun\n" });
    expect(processes().filter(({ pid }) => wordsOf(pid).includes(marker))).toEqual([]);
  });

  test("a call's timeout is capped by the server's", async () => {
    const short = await shellWith({ timeoutSecs: 1 });
    const late = await short.run(commands(["sleep 600"], { timeoutMs: 3_600_000 }), NEVER);
    expect(late).toMatchObject({ status: "timeout", timedOut: true });
  });

  test("an abort ends the call", async () => {
    const cancel = new AbortController();
    const running = shell.run(commands(["sleep 600"], { sessionId: "cancelled" }), cancel.signal);
    cancel.abort();
    expect(await running).toMatchObject({ status: "error", exitCode: null, timedOut: false });
  });
});

test("an abort at any moment leaves no process, not even one of a sandbox that has just begun", async () => {
  const marker = `9${process.pid}00`;
  for (let i = 0; i < 60; i++) {
    const cancel = new AbortController();
    const running = shell.run(commands([`sleep ${marker}`], { sessionId: `moment${i}` }), cancel.signal);
    await Bun.sleep(i / 3);
    cancel.abort();
    await running;
  }
  const left = (): number => processes().filter(({ pid }) => wordsOf(pid).includes(marker)).length;
  await until("all are gone", () => left() === 0);
}, 120_000); // sixty sandboxes are begun

describe("sessions", () => {
  test.each(["../../escape", "a/b", "..", "x".repeat(300), "\0"])(
    "%j cannot lead out of the folder",
    async (id) => {
      const parent = sharedDir();
      const inside = await shellWith({ workdir: join(parent, "shells") });
      const { workingDirectory } = await inside.run(commands(["echo x > f"], { sessionId: id }), NEVER);
      expect(workingDirectory).toStartWith(join(parent, "shells/"));
      expect(readdirSync(parent)).toEqual(["shells"]);
      await inside.dispose(id);
      expect(existsSync(workingDirectory)).toBe(false);
      await until("all is removed", () => readdirSync(join(parent, "shells")).length === 0);
    },
  );

  test("an existing folder is neither used nor deleted", async () => {
    const parent = sharedDir();
    mkdirSync(join(parent, "mine"));
    writeFileSync(join(parent, "mine/file"), "precious");
    const inside = await shellWith({ workdir: parent });
    const { workingDirectory } = await inside.run(commands(["ls"], { sessionId: "mine" }), NEVER);
    expect(workingDirectory).toBe(join(parent, "mine-2"));
    await inside.close();
    await until("the session's folder is removed", () => readdirSync(parent).length === 1);
    expect(readdirSync(join(parent, "mine"))).toEqual(["file"]);
  });

  test("cannot see each other's files", async () => {
    const { workingDirectory } = await run(["echo secret > f; chmod 777 . f"], { sessionId: "one" });
    const other = await run([`cat ${workingDirectory}/f`], { sessionId: "two" });
    expect(other.stdout).toBe("");
    expect(other.exitCode).not.toBe(0);
  });
});

/** Far beyond the longest path. The time to remove them grows with the square. */
const LEVELS = process.env["SVC_SLOW_TESTS"] === "1" ? 20_000 : 8000;

pythonTest(
  "folders of thousands of levels hold neither the file calls of the server nor other sessions nor its end",
  async () => {
    const parent = sharedDir();
    const own = await shellWith({ workdir: parent });
    const dive = `${PYTHON} -c "import os\nfor i in range(${LEVELS}): os.mkdir('a'); os.chdir('a')"`;
    const ids = ["one", "two"];
    await Promise.all(
      ids.map((sessionId) => own.run(commands([`${dive}; sleep 30`], { sessionId }), NEVER)),
    ).then((ended) =>
      expect(ended.map(({ stderr }) => stderr)).toEqual(Array(2).fill(expect.stringContaining("disk space"))),
    );
    const again = await own.run(commands(["true"], { sessionId: "one" }), NEVER).catch(String);
    expect(again).toInclude("too deep");
    await within(10_000, "sessions end", Promise.all(ids.map((id) => own.dispose(id))));
    await within(10_000, "a file is read", Bun.file(import.meta.path).text());
    expect((await own.run(commands(["echo hi"]), NEVER)).stdout).toBe("hi\n");
    await within(10_000, "the executor closes", own.close());
    await until("all is removed", () => readdirSync(parent).length === 0, 150_000); // at the lowest priority
  },
  240_000,
);

describe("skills and inputs", () => {
  test("skills are in skills/, without links, and are removed when no longer requested", async () => {
    const dir = tempDir();
    mkdirSync(join(dir, "bin"));
    writeFileSync(join(dir, "SKILL.md"), "read me", { mode: 0o600 });
    writeFileSync(join(dir, "bin/tool"), "#!/bin/sh\necho works", { mode: 0o700 });
    symlinkSync("/etc/passwd", join(dir, "link"));
    const sessionId = "skills";
    const skills = [{ name: "pdf tools", dir }];
    const used = await run(
      ["cat skills/pdf_tools/SKILL.md; skills/pdf_tools/bin/tool; ls skills/pdf_tools"],
      {
        sessionId,
        skills,
      },
    );
    expect(used.stdout).toBe("read meworks\nSKILL.md\nbin\n");
    expect(used.files).toEqual([]);
    await run(["echo x > keep"], { sessionId, skills });
    expect((await run(["ls"], { sessionId })).stdout).toBe("keep\n");
  });

  test("a link named skills/ is not followed", async () => {
    const outside = tempDir();
    writeFileSync(join(outside, "file"), "precious");
    const dir = tempDir();
    writeFileSync(join(dir, "SKILL.md"), "x");
    const sessionId = "planted";
    await run([`ln -s ${outside} skills`], { sessionId });
    await run(["true"], { sessionId, skills: [{ name: "s", dir }] });
    expect(readdirSync(outside)).toEqual(["file"]);
  });

  test("a background process that replaces skills/ by a link does not lead the copy elsewhere", async () => {
    const outside = sharedDir();
    const dir = tempDir();
    writeFileSync(join(dir, "SKILL.md"), "x");
    const sessionId = "swapping";
    await run([`(while :; do mv skills "old$RANDOM"; ln -s ${outside} skills; done) 2>/dev/null &`], {
      sessionId,
    });
    for (let n = 0; n < 6; n++) {
      const skills = [{ name: `s${n}`, dir }];
      await run(["true"], { sessionId, skills }).catch((error: Error) =>
        expect(error.message).toInclude("skills/"),
      );
    }
    expect(readdirSync(outside)).toEqual([]);
    await shell.dispose(sessionId);
  });

  test("surface reports files of earlier calls and missing ones", async () => {
    const sessionId = "surface";
    await run(["mkdir d; echo a > d/a.csv"], { sessionId });
    const call = { sessionId, client: "", inputs: [], skills: [] };
    const found = await shell.surface({ ...call, outputs: [{ name: "d/a.csv" }] });
    expect(found).toMatchObject({
      status: "success",
      files: [{ name: "d/a.csv", mimeType: "text/csv", isText: true }],
    });
    const missing = await shell.surface({ ...call, outputs: [{ name: "d/a.csv" }, { name: "b.csv" }] });
    expect(missing).toMatchObject({ status: "error", files: [{}, { error: { code: "not_produced" } }] });
  });
});

describe("start-up", () => {
  test.skipIf(Bun.which("bash") === null)("without a setting it is bash, where there is one", async () => {
    const own = await openShell({ sandbox: await sandboxWith(), timeoutSecs: TIMEOUT_SECS });
    expect(own.facts.shell).toBe(Bun.which("bash") ?? "");
    const { stdout } = await own.run(commands(["x=(1 2 3); [[ ${x[1]} == 2 ]] && cat <(echo yes)"]), NEVER);
    expect(stdout).toBe("yes\n");
    await own.close();
  });

  test.each([
    ["no-such-shell", "the program does not exist"],
    ["/bin/false", "does not run in the sandbox"],
  ])("%s: %s", async (name, words) => {
    const opened = openShell({ sandbox: await sandboxWith(), shell: name, timeoutSecs: TIMEOUT_SECS });
    const message = await opened.then(
      () => "it started",
      (error: Error) => error.message,
    );
    expect(message).toStartWith(`runtime.shell_path = "${name}": `);
    expect(message).toContain(words);
  });
});

describe("background processes of a call", () => {
  const withWord = (word: string) => processes().filter(({ pid }) => wordsOf(pid).includes(word));

  test("continue in the session without output, and end with it", async () => {
    const word = `9${process.pid}00`;
    const own = { sessionId: "background" };
    const lines = [
      `(echo heard; touch told; sleep ${word}; echo late) &`,
      "until [ -e told ]; do sleep 0.01; done",
      "echo done",
    ];
    const first = await run(lines, own);
    expect(first).toMatchObject({ status: "success", exitCode: 0, stdout: "heard\ndone\n" });
    expect((await run(["echo again"], own)).stdout).toBe("again\n");
    await until("it still runs", () => withWord(word).length > 0);
    await shell.dispose("background");
    expect(withWord(word)).toEqual([]);
  });

  test("survive a later call that times out", async () => {
    const word = `9${process.pid}01`;
    const own = { sessionId: "late" };
    await run([`sleep ${word} >/dev/null 2>&1 &`], own);
    await until("it runs", () => withWord(word).length > 0);
    expect(await run(["sleep 60"], { ...own, timeoutMs: 100 })).toMatchObject({ status: "timeout" });
    expect(withWord(word)).not.toEqual([]);
    await shell.dispose("late");
  });

  test("are killed beyond a number of calls, the oldest first", async () => {
    const own = { sessionId: "many" };
    const word = (n: number): string => `9${process.pid}${10 + n}`;
    for (let n = 0; n <= SHELL_CALLS_KEPT_MAX; n++) await run([`sleep ${word(n)} &`], own);
    // A call ends before its background process has become the program.
    await until("the newest runs", () => withWord(word(SHELL_CALLS_KEPT_MAX)).length > 0);
    await until("the oldest is gone", () => withWord(word(0)).length === 0);
    await shell.dispose("many");
    expect(withWord(word(SHELL_CALLS_KEPT_MAX))).toEqual([]);
  });

  pythonTest("shares the cap on memory with later calls", async () => {
    const sandbox = await sandboxWith({ limits: { memoryMb: 256, cpuSecs: 60, procs: 64 } });
    const capped = await shellWith({ sandbox });
    const hold = `${PYTHON} -c 'import time; kept = bytearray(160 << 20); open("held", "w"); time.sleep(60)'`;
    const first = await capped.run(commands([`${hold} &`, "until [ -e held ]; do sleep 0.05; done"]), NEVER);
    expect(first).toMatchObject({ status: "success", stderr: "" });
    const second = await capped.run(commands([hold]), NEVER);
    expect(second).toMatchObject({ status: "error", exitCode: null });
    expect(second.stderr).toContain("256 MiB of memory");
  });
});
