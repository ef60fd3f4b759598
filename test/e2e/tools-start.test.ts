// What the server says when the tools that it was asked for cannot run.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { newFolder, runBinary } from "../helpers/binary.ts";

const folder = newFolder();
const file = join(folder, "file");
writeFileSync(file, "");

test.each([
  [
    ["--enable-code-execution", "--code-exec-python", "no-such-python"],
    /code_exec_python = "no-such-python": there is no such program/,
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
