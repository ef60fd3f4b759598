import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { processTree, spawnLogged, stopTree, treeMemory } from "../../bench/processes.ts";

test("a process tree is found, weighed and ended", async () => {
  const folder = mkdtempSync(join(tmpdir(), "svc-tree-"));
  try {
    const child = spawnLogged(["/bin/sh", "-c", "sleep 30 & echo $!; wait"], join(folder, "log"), {});
    const log = Bun.file(join(folder, "log"));
    while ((await log.text()) === "") await Bun.sleep(5);
    const grandchild = Number(await log.text());
    expect(processTree(child.pid)).toEqual([child.pid, grandchild]);
    expect(treeMemory(child.pid).rssBytes).toBeGreaterThan(100_000);
    await stopTree(child);
    expect(child.signalCode).toBe("SIGTERM");
    while (processTree(grandchild).length > 0 && (await Bun.file(`/proc/${grandchild}/stat`).exists()))
      await Bun.sleep(5);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
