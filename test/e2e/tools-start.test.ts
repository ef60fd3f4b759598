// What the server says when the tools that it was asked for cannot run.

import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { newFolder, runBinary, startServer } from "../helpers/binary.ts";
import { completeText } from "../helpers/chat-client.ts";
import { describeWith } from "../helpers/programs.ts";

const GREEDY = { model: "default", temperature: 0, max_tokens: 200 };
const user = (content: string) => [{ role: "user", content }];

const folder = newFolder();
const file = join(folder, "file");
writeFileSync(file, "");

test.each([
  [
    ["--enable-code-execution", "--code-exec-python", "no-such-python"],
    /code_exec_python = "no-such-python": the program does not exist/,
  ],
  [
    ["--enable-shell", "--shell-path", "/bin/false"],
    /shell_path = "\/bin\/false": it does not run in the sandbox/,
  ],
  [["--enable-shell", "--shell-workdir", file], /shell_workdir = ".*\/file": /],
])("%j: one line with the reason, 1", async (flags, reason) => {
  const { exit, err } = await runBinary(["serve", "--host", "127.0.0.1", "--port", "0", ...flags]);
  const lines = err.split("\n").filter((line) => line.startsWith("svc: "));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(reason);
  expect(exit).toBe(1);
});

test("a cap that no tool call could keep to is raised, and said", async () => {
  const flags = ["--enable-shell", "--sb-max-cpu-secs", "5", "--shell-path", "/bin/false"];
  const { err } = await runBinary(["serve", "--host", "127.0.0.1", "--port", "0", ...flags]);
  expect(err).toContain("sandbox.max_cpu_secs is raised to 600");
});

test("few open files do not open the network of this machine", async () => {
  const warnings = async (before: string): Promise<string> => {
    const server = await startServer(["--enable-shell"], { before });
    return server.stderr();
  };
  const [usual, scarce] = await Promise.all([warnings("true"), warnings("ulimit -n 64")]);
  if (usual.includes("includes this machine")) return expect(scarce).toContain("includes this machine"); // no guard here
  expect(scarce).not.toContain("includes this machine");
  expect(scarce).toContain("tools have no network");
});

describe("Python", () => {
  /** A search path with one interpreter, which does not run. */
  function brokenPath(): string {
    const folder = newFolder();
    writeFileSync(join(folder, "python3"), "#!/bin/sh\nexit 1\n", { mode: 0o755 });
    return folder;
  }

  test("--agent goes on without one, and says so", async () => {
    const server = await startServer(["--agent"], { env: { PATH: brokenPath() } });
    expect(server.stderr()).toMatch(
      /Models cannot run Python\. runtime\.code_exec_python = "python3": \S+ is not a Python interpreter/,
    );
    const asked = { ...GREEDY, enable_shell: true, messages: user("Run this command: echo hello") };
    expect(await completeText(server.url, asked)).toBe("The result is: hello");
  });

  test.each(["--enable-code-execution", "--agent --code-exec-python python9"])(
    "%s asks for one by name, so the start fails without",
    async (args) => {
      const { exit, err } = await runBinary(["serve", "--port", "0", ...args.split(" ")], {
        env: { PATH: brokenPath() },
      });
      expect(exit).toBe(1);
      expect(err).toContain("Name another one, or disable code execution.");
    },
  );

  describeWith("python3")("with a broken one first in the search path", () => {
    test("the next one runs the cells, which the log says", async () => {
      const folder = brokenPath();
      const env = { PATH: `${folder}:${process.env["PATH"]}` };
      const server = await startServer(["--agent"], { env });
      expect(server.stderr()).toContain(`${folder}/python3 is not a Python interpreter: cells run with /`);
      const tools = [{ type: "code_interpreter" }];
      const asked = { ...GREEDY, tools, messages: user("Use python to compute 17*23.") };
      expect(await completeText(server.url, asked)).toBe("The result is: 391");
    });
  });
});
