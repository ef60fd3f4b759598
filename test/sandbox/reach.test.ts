// The launcher of a server run by root: what lies below folders that its sessions' users may not enter.

import { describe, expect } from "bun:test";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ownCommand } from "../../src/core/own-command.ts";
import { runToEnd } from "../../src/exec/run-to-end.ts";
import { launcherAbilities } from "../../src/sandbox/launcher.ts";
import { Workdirs } from "../../src/sandbox/workdirs.ts";
import { newFolder, runShell } from "../helpers/binary.ts";
import { sandboxWith, testIf, TIMEOUT_SECS } from "../helpers/real-executors.ts";
import { tempDir } from "../helpers/tmp.ts";

const IS_ROOT = process.platform === "linux" && process.getuid?.() === 0;
const rootTest = testIf(IS_ROOT, "folders closed to sessions: the tests do not run as root on Linux");
const { mounts } = await launcherAbilities(ownCommand());
const mountTest = testIf(
  mounts,
  "folders closed to sessions: root may not mount here, as in many containers",
);
/** setpriv takes away the right to mount, as containers do. */
const unprivileged = testIf(
  IS_ROOT && Bun.which("setpriv") !== null,
  "root without mounts: needs root and setpriv",
);
const ROOT = join(import.meta.dir, "../..");
const LAUNCHER = { mechanisms: ["launcher"] } as const;

/** A folder closed to all but root, with a toolchain, a session's parent and a file that is nobody's business. */
function closedHome(): string {
  const home = tempDir();
  chmodSync(home, 0o700);
  mkdirSync(join(home, "tools/bin"), { recursive: true });
  writeFileSync(join(home, "tools/bin/tool"), "#!/bin/sh\necho works\n", { mode: 0o755 });
  writeFileSync(join(home, "secret"), "secret", { mode: 0o644 });
  mkdirSync(join(home, "shells"));
  return home;
}

describe("a closed folder", () => {
  mountTest("shows the working directory and toolchains, and nothing else", async () => {
    const home = closedHome();
    const mountsBefore = readFileSync("/proc/self/mounts", "utf8");
    const sandbox = await sandboxWith({}, LAUNCHER);
    const workdir = sandbox.newWorkdirIn(join(home, "shells"), "one");
    const script = `
      echo x > "$0/file" && cat "$0/file"
      "$1/tools/bin/tool"
      cat "$1/secret" 2>/dev/null || echo no secret
      (: > "$1/tools/bin/new") 2>/dev/null || echo read only
      (: > "$1/new") 2>/dev/null || echo no new file
      mkdir "$1/shells/two" 2>/dev/null || echo no new folder
      pwd`;
    const readPaths = [join(home, "tools")];
    const argv = ["/bin/sh", "-c", script, workdir.path, home];
    const run = sandbox.spawn({ argv, workdir, readPaths });
    const { stdout, stderr } = await runToEnd(run, TIMEOUT_SECS * 1000);
    expect(stderr).toBe("");
    expect(stdout.trim().split("\n")).toEqual([
      "x",
      "works",
      "no secret",
      "read only",
      "no new file",
      "no new folder",
      workdir.path,
    ]);
    await sandbox.removeWorkdir(workdir);
    expect(readFileSync("/proc/self/mounts", "utf8")).toBe(mountsBefore);
  });

  rootTest("is passed over for private folders where nothing can be mounted", async () => {
    const before = process.env["TMPDIR"];
    process.env["TMPDIR"] = closedHome();
    try {
      for (const canMount of [true, false]) {
        const workdirs = new Workdirs({ isRoot: true, canMount });
        const workdir = workdirs.create("test");
        expect(workdir.path.startsWith(tmpdir())).toBe(canMount);
        workdirs.remove(workdir);
      }
    } finally {
      if (before === undefined) delete process.env["TMPDIR"];
      else process.env["TMPDIR"] = before;
    }
  });

  unprivileged("ends the start where it is named for sessions and nothing can be mounted", async () => {
    const shells = join(closedHome(), "shells");
    const options = `--port 0 --enable-shell --shell-workdir ${shells}`;
    const line = `PATH=/usr/bin:/bin exec setpriv --bounding-set=-sys_admin "$0" serve ${options}`;
    const { exit, err } = await runShell(line, { cwd: newFolder() });
    expect(exit).toBe(1);
    expect(err).toContain("and this server may not mount. Use a folder that every user can reach");
  });
});

describe("root in a container that keeps namespaces from it", () => {
  unprivileged("has tools confined all the same", async () => {
    const program = `
      import { openSandbox } from "${ROOT}/src/sandbox/sandbox.ts";
      import { ownCommand } from "${ROOT}/src/core/own-command.ts";
      const policy = { mode: "auto", profile: "developer", network: "none", limits: { memoryMb: 512, cpuSecs: 9, procs: 32 } };
      const options = { policy, environment: { PATH: "/usr/bin:/bin" }, home: "/", ownCommand: ownCommand(), mechanisms: ["launcher"] };
      const { effective } = await openSandbox(options);
      console.log(JSON.stringify(effective));`;
    const file = join(tempDir(), "open.ts");
    writeFileSync(file, program);
    const line = `exec setpriv --bounding-set=-sys_admin "${process.execPath}" ${file}`;
    const { out } = await runShell(line, { cwd: newFolder() });
    expect(JSON.parse(out)).toMatchObject({ mechanism: "launcher", filesystem: "workdir", network: "none" });
  });
});
