// Caps held by the kernel: control groups of version 2. Few test machines let them be made; test/vm.sh boots one that does,
// as root and as an ordinary user. What the caps are without them is in escape.test.ts.

import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { controlGroupBase, groupOf } from "../../src/core/control-groups.ts";
import { runToEnd } from "../../src/exec/run-to-end.ts";
import type { Mechanism, Network, Sandbox } from "../../src/sandbox/types.ts";
import { HAS_PYTHON, PYTHON, sandboxWith } from "../helpers/real-executors.ts";

const base = controlGroupBase();
/** In test/vm.sh a skip is a failure. */
const isExpected = process.env["SVC_EXPECT_CONTROL_GROUPS"] === "1";
const isPossible = HAS_PYTHON && base.kind !== "none";
if (!isPossible && !isExpected)
  console.warn(
    `SKIPPED: control groups: ${base.kind === "none" ? base.why : "need python3"}; see test/vm.sh`,
  );

/** Emulated machines take twenty times as long. */
const RUN_MS = 240_000;
const LIMITS = { memoryMb: 256, cpuSecs: 60, procs: 48 };

/** Each takes more than its cap in a way that a sum over processes does not see, or sees late. */
const HOGS: readonly (readonly [name: string, limit: "memory" | "cpu", code: string])[] = [
  [
    "memory of many processes",
    "memory",
    "import os,time\nfor _ in range(8):\n  if os.fork()==0: b=bytearray(64<<20); time.sleep(30); os._exit(0)\ntime.sleep(30)",
  ],
  [
    "socket pairs, whose buffers are the kernel's own memory",
    "memory",
    `import socket,time
kept=[]
for _ in range(480):
  a,b=socket.socketpair(); kept.append((a,b))
  for o in (socket.SO_SNDBUF,socket.SO_RCVBUF): a.setsockopt(socket.SOL_SOCKET,o,1<<21)
  a.setblocking(False)
  try:
    while True: a.send(b'x'*65536)
  except OSError: pass
time.sleep(30)`,
  ],
  [
    "short children that nobody waits for",
    "cpu",
    `import os,signal,time
signal.signal(signal.SIGCHLD,signal.SIG_IGN)
while True:
  if os.fork()==0:
    end=time.process_time()+0.05
    while time.process_time()<end: pass
    os._exit(0)
  time.sleep(0.03)`,
  ],
];

/** Names of groups that stand below a base now. */
function toolGroups(): readonly string[] {
  const names = readdirSync("/sys/fs/cgroup", { recursive: true, encoding: "utf8" });
  return names.filter((name) => new RegExp(`svc-tools-${process.pid}-\\d+$`).test(name));
}

test.if(isExpected)("the machine lets control groups be made", () => {
  expect(base.kind).toBeOneOf(["own", "scope"]);
});

const open = (mechanism: Mechanism, network: Network, limits = LIMITS): Promise<Sandbox> =>
  sandboxWith({ network, limits }, { mechanisms: [mechanism] });

describe.if(isPossible).each(["launcher", "bubblewrap"] as const)("%s", (mechanism) => {
  const usable = (sandbox: Sandbox): boolean => {
    if (sandbox.effective.mechanism === mechanism) return true;
    console.warn(`SKIPPED: ${mechanism}: ${sandbox.effective.warnings.join(" ")}`);
    return false;
  };

  test.each(HOGS)(
    "%s: the tree is ended for %s",
    async (name, limit, code) => {
      const network = name.startsWith("socket pairs") && mechanism === "bubblewrap" ? "full" : "none";
      const caps = { memoryMb: 160, cpuSecs: limit === "cpu" ? 2 : 60 };
      const sandbox = await open(mechanism, network, { ...LIMITS, ...caps });
      if (!usable(sandbox)) return;
      expect(sandbox.effective.caps).toBe("cgroup v2");
      const workdir = sandbox.newWorkdir("group");
      const run = sandbox.spawn({ argv: [PYTHON, "-c", code], workdir });
      const { ending, timedOut, stderr } = await runToEnd(run, RUN_MS);
      await sandbox.removeWorkdir(workdir);
      expect({ limit: ending.limit, timedOut, stderr }).toMatchObject({ limit, timedOut: false });
    },
    RUN_MS,
  );

  test("processes stop at the cap, whoever starts them", async () => {
    const sandbox = await open(mechanism, "none", { ...LIMITS, procs: 16 });
    if (!usable(sandbox)) return;
    const workdir = sandbox.newWorkdir("group");
    const code =
      "import os,time\nn=0\ntry:\n  while n<200:\n    if os.fork()==0: time.sleep(20); os._exit(0)\n    n+=1\nexcept OSError: pass\nprint(n)";
    const { stdout } = await runToEnd(sandbox.spawn({ argv: [PYTHON, "-c", code], workdir }), RUN_MS);
    expect(Number(stdout)).toBeWithin(8, 16 + 24);
    await sandbox.removeWorkdir(workdir);
  });

  test("a program is in a group of its own, and the group goes with the folder", async () => {
    const sandbox = await open(mechanism, "full");
    if (!usable(sandbox)) return;
    const workdir = sandbox.newWorkdir("group");
    const run = sandbox.spawn({ argv: ["/bin/sh", "-c", "echo there; sleep 30"], workdir });
    await new Promise((resolve) => run.stdout.once("data", resolve));
    const groups = toolGroups();
    expect(groups).toHaveLength(1);
    expect(groupOf("self")).not.toContain("svc-tools-");
    run.kill();
    await run.ended;
    await sandbox.removeWorkdir(workdir);
    expect(toolGroups()).toEqual([]);
  });

  test("the program can neither leave its group nor change its caps", async () => {
    const sandbox = await open(mechanism, "none");
    if (!usable(sandbox)) return;
    const workdir = sandbox.newWorkdir("group");
    const code = `import glob,os
for root in ["/sys/fs/cgroup"]:
  for folder,_,files in os.walk(root):
    for name,value in (("cgroup.procs","0"),("memory.max","max"),("pids.max","max"),("cgroup.kill","1")):
      try:
        with open(os.path.join(folder,name),"w") as f: f.write(value)
        print("wrote",folder,name)
      except OSError: pass
print("tried")`;
    const { stdout } = await runToEnd(sandbox.spawn({ argv: [PYTHON, "-c", code], workdir }), RUN_MS);
    expect(stdout).toBe("tried\n");
    await sandbox.removeWorkdir(workdir);
  });
});

test("without them the caps are held by watching, and that is said", async () => {
  const { effective } = await sandboxWith({}, { controlGroups: false });
  expect(effective.caps).toBeOneOf(["watching", undefined]);
  if (base.kind === "none" && effective.limits !== undefined) {
    expect((await sandboxWith()).effective.caps).toBe("watching");
    expect(base.why).toMatch(/cgroup|control groups/);
  }
});

test("groups of a machine with version 1 alone are not taken for those of version 2", () => {
  if (groupOf("self") === undefined) expect(base).toMatchObject({ kind: "none", isAbsent: true });
  else expect(groupOf("self")).toStartWith(join("/sys/fs", "cgroup"));
});
