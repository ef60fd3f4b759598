// What the sandbox says of itself, and what it passes on.

import { describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CONVERT_FILE_BYTES } from "../../src/convert/limits.ts";
import { defined } from "../../src/core/defined.ts";
import { runToEnd } from "../../src/exec/run-to-end.ts";
import { confinedEnvironment } from "../../src/sandbox/environment.ts";
import { profileText } from "../../src/sandbox/macos.ts";
import { passwdText } from "../../src/sandbox/user-files.ts";
import { readPaths } from "../../src/sandbox/read-paths.ts";
import { sandboxWith } from "../helpers/real-executors.ts";
import { tempDir } from "../helpers/tmp.ts";
import { until } from "../helpers/until.ts";

describe("the environment", () => {
  const own = { PATH: "/bin", HF_TOKEN: "secret", OPENAI_API_KEY: "secret", VIRTUAL_ENV: "/venv", TZ: "UTC" };

  test("has a short list of the server's names and homes inside the folder", () => {
    const passed = confinedEnvironment(own, "restricted", "/work");
    expect(passed).toMatchObject({ PATH: "/bin", TZ: "UTC", HOME: "/work", TMPDIR: "/work/.tmp" });
    expect(JSON.stringify(passed)).not.toContain("secret");
    expect(passed).not.toHaveProperty("VIRTUAL_ENV");
  });

  test("for developers has toolchains too", () => {
    const passed = confinedEnvironment(own, "developer", "/work");
    expect(passed).toMatchObject({ VIRTUAL_ENV: "/venv" });
    expect(JSON.stringify(passed)).not.toContain("secret");
  });
});

describe("what can be read", () => {
  const home = tempDir();
  mkdirSync(join(home, ".cargo/bin"), { recursive: true });
  mkdirSync(join(home, "tools"));
  const environment = { PATH: `/usr/bin:${home}/tools:${home}:.:/`, VIRTUAL_ENV: home };

  test("restricted: system files and nothing of the user's", () => {
    const paths = readPaths({ profile: "restricted", environment, home, extra: [] });
    expect(paths).toContain("/usr");
    expect(paths.filter((path) => path.startsWith(home))).toEqual([]);
    expect(paths).not.toContain("/etc");
  });

  test("developer: toolchains, but no folder that holds a home or the whole system", () => {
    const paths = readPaths({ profile: "developer", environment, home, extra: ["/", "/proc/1", "relative"] });
    expect(paths.filter((path) => path.startsWith(home))).toEqual([`${home}/tools`, `${home}/.cargo/bin`]);
    expect(paths).not.toContain("/");
    expect(paths.filter((path) => path.startsWith("/proc"))).toEqual([]);
  });

  test("none lies within another", () => {
    const paths = readPaths({ profile: "developer", environment, home, extra: ["/usr/bin", "/usr/lib"] });
    const nested = paths.filter((path) => paths.some((other) => path.startsWith(`${other}/`)));
    expect(nested).toEqual([]);
  });
});

describe("modes", () => {
  test("off confines nothing and says so", async () => {
    const { effective } = await sandboxWith({ mode: "off" });
    expect(effective).toMatchObject({ mechanism: "none", filesystem: "open", network: "open" });
    expect(effective).not.toHaveProperty("limits");
    expect(effective.warnings).toEqual([
      "The sandbox is off: tools have all permissions of the server's user.",
    ]);
  });

  test("off leaves the environment as it is, and still ends whole trees", async () => {
    const sandbox = await sandboxWith(
      { mode: "off" },
      { environment: { PATH: "/usr/bin:/bin", OWN: "kept" } },
    );
    const workdir = sandbox.newWorkdir("test");
    const run = sandbox.spawn({ argv: ["/bin/sh", "-c", "echo $OWN; pwd; sleep 600 & sleep 600"], workdir });
    const { stdout, timedOut } = await runToEnd(run, 500);
    expect({ stdout, timedOut }).toEqual({ stdout: `kept\n${workdir.path}\n`, timedOut: true });
    await sandbox.removeWorkdir(workdir);
  });

  test("a file is as large as the limits say: a tool's is bounded, a converter's is a whole model", async () => {
    const sizes = { tool: undefined, small: 1000, converter: CONVERT_FILE_BYTES };
    const commands = {
      tool: "! truncate -s 300M f",
      small: "! truncate -s 1001 f",
      converter: "truncate -s 300M f",
    };
    for (const name of ["tool", "small", "converter"] as const) {
      const limits = { memoryMb: 1024, cpuSecs: 60, procs: 64, ...defined({ fileBytes: sizes[name] }) };
      const sandbox = await sandboxWith({ limits });
      if (sandbox.effective.mechanism === "none") {
        console.warn("SKIPPED: sizes of files: this machine has no sandbox");
        return;
      }
      const workdir = sandbox.newWorkdir("test");
      const run = sandbox.spawn({ argv: ["/bin/sh", "-c", `trap '' XFSZ; ${commands[name]}`], workdir });
      expect([name, (await runToEnd(run, 30_000)).ending.code]).toEqual([name, 0]);
      await sandbox.removeWorkdir(workdir);
    }
  });

  test.each(["launcher", "bubblewrap"] as const)(
    "what %s has made in a folder beside its place is moved there, and nothing else stays",
    async (mechanism) => {
      const place = tempDir();
      chmodSync(place, 0o755); // root's tools are another user's, who must get there where nothing can be mounted
      const sandbox = await sandboxWith({}, { mechanisms: [mechanism] });
      const workdir = sandbox.newWorkdir("converted", place);
      const run = sandbox.spawn({ argv: ["/bin/sh", "-c", "echo whole > model.gguf"], workdir });
      expect((await runToEnd(run, 30_000)).ending.code).toBe(0);
      renameSync(join(workdir.path, "model.gguf"), join(place, "model.gguf"));
      await sandbox.removeWorkdir(workdir);
      await until("nothing else is there", () => readdirSync(place).length === 1);
      expect(readFileSync(join(place, "model.gguf"), "utf8")).toBe("whole\n");
    },
  );

  test("auto goes on with what there is, on does not", async () => {
    // A launcher that cannot be started stands for a kernel that offers nothing.
    const options = { mechanisms: ["launcher"], ownCommand: ["/bin/false"] } as const;
    const { effective } = await sandboxWith({ mode: "auto" }, options);
    expect(effective).toMatchObject({ mechanism: "none", network: "open" });
    expect(effective.warnings.join(" ")).toContain("tools run unconfined");
    const refused = sandboxWith({ mode: "on" }, options);
    expect(refused).rejects.toThrow(/^sandbox\.mode is "on", but tools cannot be confined as configured: /);
  });
});

describe("folders", () => {
  test("a configured one is made, and belongs to whom processes run as", async () => {
    const sandbox = await sandboxWith();
    const parent = tempDir();
    chmodSync(parent, 0o755);
    const workdir = sandbox.openWorkdir(join(parent, "a/b"));
    const run = sandbox.spawn({ argv: ["/bin/sh", "-c", "echo x > f && cat f"], workdir });
    expect((await runToEnd(run, 20_000)).stdout).toBe("x\n");
  });

  test("one of root's that is not empty is not given away", async () => {
    if (process.getuid?.() !== 0) return;
    const sandbox = await sandboxWith();
    const folder = tempDir();
    writeFileSync(join(folder, "precious"), "");
    expect(() => sandbox.openWorkdir(folder)).toThrow(/belongs to root and is not empty/);
  });
});

test("a session's passwd has its user once, and the machine's other users", () => {
  const machine =
    "root:x:0:0:root:/root:/bin/bash\nsvc:x:990:990::/var/lib/svc:/bin/false\nme:x:1000:100:Me:/home/me:/bin/zsh\n";
  expect(passwdText(machine, 60_707, "/work")).toBe(
    "svc:x:60707:60707::/work:/bin/sh\nroot:x:0:0:root:/root:/bin/bash\nme:x:1000:100:Me:/home/me:/bin/zsh\n",
  );
  expect(passwdText(machine, 1000, "/work")).toStartWith("me:x:1000:100::/work:/bin/sh\nroot:");
});

test("macOS: a profile denies all but the folder, what can be read, and the network asked for", () => {
  const job = { argv: [], workdir: { path: "/work/dir", isPrivate: true }, readPaths: ['/a "b"'] };
  const none = profileText(job, "none");
  expect(none.split("\n").slice(0, 2)).toEqual(["(version 1)", "(deny default)"]);
  expect(none).toContain('(allow file-read* file-write* (subpath "/work/dir"))');
  expect(none).toContain(String.raw`(subpath "/a \"b\"")`);
  expect(none).not.toContain("network");
  expect(profileText(job, "loopback")).toContain('(remote ip "localhost:*")');
  expect(profileText(job, "full")).toContain("(allow network*)");
});
