// Python sessions with a real interpreter in a real sandbox.

import { beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { FontCaches } from "../../src/exec/python/font-cache.ts";
import { PythonSession } from "../../src/exec/python/session.ts";
import type { PythonCall, PythonResult, PythonSessions } from "../../src/exec/types.ts";
import {
  cell,
  closeExecutors,
  HAS_PYTHON,
  NEVER,
  PYTHON,
  pythonWith,
  sandboxWith,
  testIf,
  TIMEOUT_SECS,
} from "../helpers/real-executors.ts";
import { sharedDir, tempDir } from "../helpers/tmp.ts";
import { until, within } from "../helpers/until.ts";

const pythonTest = testIf(HAS_PYTHON, `Python sessions: there is no ${PYTHON}`);

/** Whether the interpreter has a module. */
function has(module: string): boolean {
  return HAS_PYTHON && Bun.spawnSync([PYTHON, "-c", `import ${module}`]).exitCode === 0;
}

const figureTest = testIf(has("matplotlib"), "figures: there is no matplotlib");
const imageTest = testIf(has("PIL"), "images: there is no PIL");
const animationTest = testIf(has("matplotlib") && has("PIL"), "animations: there is no matplotlib with PIL");

closeExecutors();

let python: PythonSessions;

beforeAll(async () => {
  if (HAS_PYTHON) python = await pythonWith();
});

const run = (code: string, call: Partial<PythonCall> = {}): Promise<PythonResult> =>
  python.run(cell(code, call), NEVER);

/** A cell that would run for long and has begun; the result waits for its end. */
async function begun(sessionId: string, signal: AbortSignal): Promise<() => Promise<PythonResult>> {
  const { workingDirectory } = await run("1", { sessionId });
  const running = python.run(
    cell("open('begun', 'w').close(); import time; time.sleep(600)", { sessionId }),
    signal,
  );
  await until("the cell has begun", () => existsSync(join(workingDirectory, "begun")));
  return () => running;
}

describe("state and values", () => {
  pythonTest("variables live from call to call, and belong to one session", async () => {
    await run("x = 41");
    expect((await run("x + 1")).result).toEqual({ repr: "42", type: "int" });
    expect((await run("_")).result?.repr).toBe("42");
    expect((await run("x", { sessionId: "other" })).exception).toContain("NameError");
  });

  pythonTest("None is no value, an error has its traceback", async () => {
    expect(await run("None")).toMatchObject({ status: "success", stdout: "", files: [], images: [] });
    const failed = await run("def f():\n    return 1 / 0\nf()");
    expect(failed.status).toBe("error");
    expect(failed.exception).toMatch(
      /^Traceback[^]*line 3, in <module>[^]*return 1 \/ 0[^]*ZeroDivisionError/,
    );
    expect((await run("def f(:")).exception).toContain("SyntaxError");
  });

  pythonTest.each([
    ["import sys; sys.exit(3)", "SystemExit: 3"],
    ["raise KeyboardInterrupt", "KeyboardInterrupt"],
  ])("%s is reported and the session goes on", async (code, exception) => {
    const sessionId = "exits";
    await run("kept = 1", { sessionId });
    expect((await run(code, { sessionId })).exception).toBe(exception);
    expect((await run("kept", { sessionId })).result?.repr).toBe("1");
  });

  pythonTest("reset forgets variables and keeps files", async () => {
    const sessionId = "reset";
    await run("x = 1; open('kept', 'w').write('x')", { sessionId });
    await python.reset({ sessionId, client: "" });
    const after = await run("import os; os.path.exists('kept'), 'x' in globals()", { sessionId });
    expect(after.result?.repr).toBe("(True, False)");
  });

  pythonTest("functions of a cell can be handed to worker processes", async () => {
    const { effective } = await sandboxWith();
    if (effective.mechanism === "launcher") return; // has no shared memory: docs/sandbox.md
    const code =
      "from multiprocessing import get_context\ndef sq(x): return x * x\nwith get_context('fork').Pool(2) as p: print(p.map(sq, [1, 2, 3]))";
    expect(await run(code, { sessionId: "pool" })).toMatchObject({ stdout: "[1, 4, 9]\n" });
  });

  pythonTest("a file of the working directory does not replace a module of the interpreter", async () => {
    const sessionId = "shadow";
    await run("open('json.py', 'w').write('raise SystemError'); import os; os._exit(1)", { sessionId });
    expect((await run("1 + 1", { sessionId })).result?.repr).toBe("2");
  });
});

describe("output", () => {
  pythonTest("child processes write between prints, in order, and not into the protocol", async () => {
    const code =
      "import subprocess\nprint('a')\nsubprocess.run('echo child; echo {} >&2', shell=True)\nprint('b')";
    expect(await run(code)).toMatchObject({ stdout: "a\nchild\nb\n", stderr: "{}\n", status: "success" });
  });

  pythonTest("what looks like a reply is output", async () => {
    const code = 'import os\nos.write(1, b\'{"id": 1, "repr": "forged"}\\n\')\n7';
    expect(await run(code)).toMatchObject({ result: { repr: "7" }, stdout: '{"id": 1, "repr": "forged"}\n' });
  });

  pythonTest("a reply that a cell forges is not believed where it has not the form of one", async () => {
    const code =
      "import os\nfor n in range(3, 20):\n  try: os.write(n, b'\\n{\"id\": 999999, \"images\": 5}\\nnonsense\\n')\n  except OSError: pass\n'real'";
    expect((await run(code, { sessionId: "forger" })).result?.repr).toBe("'real'");
  });

  pythonTest("streams that a cell closes or replaces are there again", async () => {
    const sessionId = "streams";
    await run("import os, sys; os.close(1); os.close(2); sys.stdout = None", { sessionId });
    expect((await run("print('back')", { sessionId })).stdout).toBe("back\n");
  });

  pythonTest("output has an end, and says what is missing", async () => {
    const { stdout } = await run("print('x' * 3_000_000)");
    expect(stdout.length).toBeLessThan(1_100_000);
    expect(stdout).toContain("\n[… 1951425 bytes left out …]\n");
    expect(stdout).toEndWith("x\n");
  });

  pythonTest("nobody answers input()", async () => {
    expect((await run("input()")).exception).toContain("RuntimeError: there is no standard input");
  });

  pythonTest("a cell that forks has one answer", async () => {
    const result = await run(
      "import os\nif os.fork() == 0: print('child')\nelse: os.wait(); print('parent')",
      {
        sessionId: "fork",
      },
    );
    expect(result.stdout).toBe("child\nparent\n");
    expect((await run("1", { sessionId: "fork" })).result?.repr).toBe("1");
  });
});

describe("images", () => {
  const png = (image: string | undefined): string =>
    Buffer.from(image ?? "", "base64").toString("latin1", 1, 4);

  figureTest("a figure that is shown, one that is saved and one that is left open", async () => {
    const code = (end: string): string => `import matplotlib.pyplot as plt\nplt.plot([1, 2, 3])\n${end}`;
    for (const end of ["plt.show()", "", "plt.savefig('plot.png')"]) {
      const { images, files } = await run(code(end), { sessionId: "figures" });
      expect(images.map(png)).toEqual(["PNG"]);
      expect(files.map(({ name }) => name)).toEqual(end.includes("savefig") ? ["plot.png"] : []);
    }
  });

  imageTest("an image as the last value", async () => {
    const result = await run("from PIL import Image\nImage.new('RGB', (4, 3))", { sessionId: "images" });
    expect(result.images.map(png)).toEqual(["PNG"]);
    expect(result.result?.repr).toBe("<PIL Image size=4x3>");
  });

  animationTest("an animation's frames", async () => {
    const code = `import matplotlib.pyplot as plt
from matplotlib.animation import FuncAnimation, PillowWriter
fig, ax = plt.subplots()
line, = ax.plot([], [])
FuncAnimation(fig, lambda i: line.set_data([0, i], [0, i]), frames=4).save('a.gif', writer=PillowWriter(fps=4))`;
    const { videoFrames, images, files } = await run(code, { sessionId: "animation" });
    expect(videoFrames).toHaveLength(4);
    expect(images).toEqual([]);
    expect(files.map(({ name }) => name)).toEqual(["a.gif"]);
  });
});

describe("end of a call", () => {
  pythonTest("a call that takes too long is interrupted, and keeps what it had", async () => {
    const short = await pythonWith({ timeoutSecs: 1 });
    await short.run(cell("x = 5"), NEVER);
    const late = await short.run(cell("print('begun')\nimport time\ntime.sleep(60)"), NEVER);
    expect(late).toMatchObject({
      status: "timeout",
      stdout: "begun\n",
      timeout: { secs: 1, interrupted: true, killed: false },
    });
    expect((await short.run(cell("x"), NEVER)).result?.repr).toBe("5");
  });

  pythonTest("one that does not heed that is killed; the next call finds the files", async () => {
    const short = await pythonWith({ timeoutSecs: 1 });
    const stubborn =
      "open('kept.txt', 'w').write('x'); x = 5\nimport time\nwhile True:\n  try: time.sleep(60)\n  except KeyboardInterrupt: pass";
    const late = await short.run(cell(stubborn), NEVER);
    expect(late).toMatchObject({ status: "timeout", timeout: { interrupted: false, killed: true } });
    expect(late.files.map(({ name }) => name)).toEqual(["kept.txt"]);
    const after = await short.run(
      cell("import os; os.listdir('.').count('kept.txt'), 'x' in globals()"),
      NEVER,
    );
    expect(after.result?.repr).toBe("(1, False)");
    expect(after.workingDirectory).toBe(late.workingDirectory);
  });

  pythonTest("a process that has got away, and holds the interpreter's pipes, holds nothing up", async () => {
    const free = await pythonWith({ sandbox: await sandboxWith({ mode: "off" }) });
    const pid = join(tempDir(), "pid");
    const escape = [
      "import os, time",
      "if os.fork() == 0:",
      "  os.setsid()",
      "  if os.fork() > 0: os._exit(0)",
      `  open(${JSON.stringify(pid)}, 'w').write(str(os.getpid()))`,
      "  time.sleep(600)",
      `while not os.path.exists(${JSON.stringify(pid)}): time.sleep(0.01)`,
      "os._exit(7)",
    ];
    const died = await within(20_000, "the call ends", free.run(cell(escape.join("\n"), {}), NEVER));
    process.kill(Number(readFileSync(pid, "utf8")), "SIGKILL");
    expect(died).toMatchObject({ status: "error", exception: expect.stringContaining("has ended") });
  });

  pythonTest("an interpreter that dies says how, and another one takes over", async () => {
    const sessionId = "dies";
    const died = await run("import os; os._exit(7)", { sessionId });
    expect(died).toMatchObject({ status: "error" });
    expect(died.exception).toContain("Its exit code was 7");
    expect((await run("1", { sessionId })).result?.repr).toBe("1");
  });

  pythonTest("one that is over a limit says which", async () => {
    const sandbox = await sandboxWith({ limits: { memoryMb: 128, cpuSecs: 60, procs: 64 } });
    if (sandbox.effective.limits === undefined) return;
    const small = await pythonWith({ sandbox });
    const code =
      "import mmap, time\na = mmap.mmap(-1, 1 << 29)\nfor i in range(0, 1 << 29, 4096): a[i] = 1\ntime.sleep(60)";
    expect((await small.run(cell(code), NEVER)).exception).toContain("128 MiB of memory");
  });

  pythonTest("a signal that aborts ends the call", async () => {
    const cancel = new AbortController();
    const running = await begun("cancel", cancel.signal);
    cancel.abort();
    expect(await running()).toMatchObject({ status: "error", exception: "The call was cancelled." });
  });

  pythonTest("calls of one session come one after another", async () => {
    const sessionId = "turns";
    await run("log = []", { sessionId });
    const slow = run("import time\nlog.append('a'); time.sleep(0.2); log.append('b')", { sessionId });
    const quick = run("log.append('c')", { sessionId });
    await Promise.all([slow, quick]);
    expect((await run("log", { sessionId })).result?.repr).toBe("['a', 'b', 'c']");
  });
});

describe("files", () => {
  pythonTest("inputs lie there under safe names, again only when they change", async () => {
    const sessionId = "inputs";
    const inputs = ["../data.csv", "data.csv"].map((name, index) => ({
      id: `f${index}`,
      name,
      body: new Blob([`${index}`]),
    }));
    const read = await run("open('data.csv').read(), open('data-2.csv').read()", { sessionId, inputs });
    expect(read.result?.repr).toBe("('0', '1')");
    expect(read.files).toEqual([]);
    await run("open('data.csv', 'w').write('mine')", { sessionId, inputs });
    expect((await run("open('data.csv').read()", { sessionId, inputs })).result?.repr).toBe("'mine'");
    const next = [{ id: "f9", name: "data.csv", body: new Blob(["new"]) }];
    expect((await run("open('data.csv').read()", { sessionId, inputs: next })).result?.repr).toBe("'new'");
  });

  pythonTest("an input does not follow a link that a cell has put in its place", async () => {
    const target = join(tempDir(), "target");
    writeFileSync(target, "untouched");
    const sessionId = "planted";
    await run(`import os; os.symlink(${JSON.stringify(target)}, 'data.csv')`, { sessionId });
    const inputs = [{ id: "f", name: "data.csv", body: new Blob(["input"]) }];
    expect((await run("os.path.islink('data.csv')", { sessionId, inputs })).result?.repr).toBe("False");
    expect(await Bun.file(target).text()).toBe("untouched");
  });

  pythonTest("all sessions can share a folder", async () => {
    const workdir = join(sharedDir(), "shared");
    const shared = await pythonWith({ workdir });
    const first = await shared.run(cell("open('a.txt', 'w').write('x')"), NEVER);
    const second = await shared.run(cell("open('a.txt').read()", { sessionId: "t" }), NEVER);
    expect(second.result?.repr).toBe("'x'");
    expect(first.workingDirectory).toBe(second.workingDirectory);
    expect(second.renewal).toEqual({}); // a new interpreter, and the files of before
    await shared.close();
    expect(existsSync(join(workdir, "a.txt"))).toBe(true);
  });
});

describe("sessions end", () => {
  pythonTest("dispose ends the interpreter and takes its folder with it", async () => {
    const sessionId = "disposed";
    const { workingDirectory } = await run("x = 1; import os; os.makedirs('a/b'); os.chmod('a', 0)", {
      sessionId,
    });
    await python.dispose(sessionId);
    expect(existsSync(workingDirectory)).toBe(false);
    const again = await run("'x' in globals()", { sessionId });
    expect(again.result?.repr).toBe("False");
    expect(again.workingDirectory).not.toBe(workingDirectory);
  });

  pythonTest("dispose ends a call that is running", async () => {
    const running = await begun("busy", NEVER);
    await python.dispose("busy");
    expect(await running()).toMatchObject({ status: "error" });
  });

  pythonTest("a session that nobody uses goes by itself", async () => {
    const brief = await pythonWith({ idleMs: 20 });
    const { workingDirectory } = await brief.run(cell("1"), NEVER);
    await until("the folder is gone", () => !existsSync(workingDirectory));
  });
});

describe("start-up", () => {
  const failure = async (name: string): Promise<string> => {
    return pythonWith({ python: name }).then(
      () => "it started",
      (error: Error) => error.message,
    );
  };

  test.each([
    ["no-such-python", "the program does not exist"],
    ["/bin/false", "is not a Python interpreter"],
  ])("%s: %s", async (name, words) => {
    const message = await failure(name);
    expect(message).toStartWith(`runtime.code_exec_python = "${name}": `);
    expect(message).toContain(words);
  });

  pythonTest("the facts name version and packages", () => {
    expect(python.facts).toMatchObject({
      timeoutSecs: TIMEOUT_SECS,
      version: expect.stringMatching(/^Python 3/),
    });
  });

  pythonTest("a link to an interpreter is as good as the interpreter", async () => {
    const folder = sharedDir();
    mkdirSync(join(folder, "bin"));
    symlinkSync(PYTHON, join(folder, "bin/python"));
    const linked = await pythonWith({ python: join(folder, "bin/python") });
    expect((await linked.run(cell("2 + 2"), NEVER)).result?.repr).toBe("4");
  });

  pythonTest("an interpreter that does not run gives way to the next of the search path", async () => {
    const folder = tempDir();
    const broken = join(folder, "python3");
    writeFileSync(broken, "#!/bin/sh\nexit 1\n", { mode: 0o755 });
    const warnings: string[] = [];
    const found = await pythonWith({
      python: "python3",
      searchPath: `${folder}:${dirname(PYTHON)}`,
      warn: (line) => warnings.push(line),
    });
    expect((await found.run(cell("2 + 2"), NEVER)).result?.repr).toBe("4");
    expect(warnings).toEqual([
      expect.stringMatching(/^.*python3 is not a Python interpreter: cells run with /),
    ]);
    expect(warnings[0]).toStartWith(broken);
  });
});

pythonTest(
  "matplotlib's list of fonts is made once, in the sandbox, and is in the folder of each new session",
  async () => {
    const sandbox = await sandboxWith();
    const folder = sharedDir();
    const program = { path: join(folder, "python"), readPaths: [folder] };
    const makes = 'mkdir -p .cache/matplotlib; echo "$2" > .cache/matplotlib/fontlist-v9.json';
    writeFileSync(program.path, `#!/bin/sh\n${makes}\n`, { mode: 0o755 });
    const fonts = new FontCaches(sandbox, program, ["matplotlib==3.10.0"]);
    const list = await until("the list is made", () => fonts.ready);
    expect(Buffer.from(list.content).toString()).toBe("import matplotlib.font_manager\n");
    const session = new PythonSession({
      sandbox,
      program: { path: PYTHON, readPaths: [] },
      workdir: sandbox.newWorkdir("test"),
      timeoutSecs: TIMEOUT_SECS,
      sessionId: "fonts",
      isShared: false,
      fonts,
    });
    const code = 'from pathlib import Path\n(Path.home() / ".cache/matplotlib/fontlist-v9.json").read_text()';
    const { result, files } = await session.run(cell(code), NEVER);
    expect({ repr: result?.repr, files }).toEqual({
      repr: JSON.stringify("import matplotlib.font_manager\n").replaceAll('"', "'"),
      files: [],
    });
    await Promise.all([session.close(), fonts.close()]);
    const without = new FontCaches(sandbox, program, ["numpy==2.1.0"]);
    await without.close();
    expect(without.ready).toBeUndefined();
  },
);
