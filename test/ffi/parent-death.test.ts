// Helper processes end with their parent, also where the signal of the kernel does not reach them.

import { expect, test } from "bun:test";
import { closeSync } from "node:fs";
import { join } from "node:path";
import { isAlive } from "../helpers/processes.ts";
import { until } from "../helpers/until.ts";

const SCRIPT = join(import.meta.dir, "../helpers/helper-process.ts");
const HELPER = [process.execPath, SCRIPT, "helper"];
/** A shell in between outlives the parent, and is who the parent-death signal would come from. */
const BELOW_A_SHELL = ["/bin/sh", "-c", '"$@"; exit', "sh", ...HELPER];

const linuxTest = test.if(process.platform === "linux");
if (process.platform !== "linux")
  console.warn("SKIPPED: ends of helper processes: the kernel is asked on Linux alone");

linuxTest.each([
  ["its own", "SIGKILL", HELPER],
  ["its own", "SIGTERM", HELPER],
  ["one above its parent, by the pipe alone", "SIGKILL", BELOW_A_SHELL],
  ["one above its parent, by the pipe alone", "SIGTERM", BELOW_A_SHELL],
] as const)("a helper in native code ends with %s: %s", async (_, signal, words) => {
  const parent = Bun.spawn([process.execPath, SCRIPT, "parent", ...words], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const { value } = await parent.stdout.getReader().read();
  const helper = Number(new TextDecoder().decode(value));
  expect(isAlive(helper)).toBe(true);
  parent.kill(signal);
  await parent.exited;
  await until("the helper has ended", () => !isAlive(helper));
});

linuxTest("a helper whose parent has ended before it asks ends at once", async () => {
  // The shell goes on once it is told that the other end of the pipe is closed.
  const helper = Bun.spawn(["/bin/sh", "-c", 'read -r go; exec "$@"', "sh", ...HELPER], {
    stdio: ["pipe", "ignore", "inherit", "pipe"],
  });
  const end = helper.stdio[3];
  if (typeof end === "number") closeSync(end);
  void helper.stdin.write("go\n");
  void helper.stdin.flush();
  await helper.exited;
  expect(helper.signalCode).toBe("SIGKILL");
});
