// svc update through the executable: a signed release takes its place; downloads are compared with the hub.

import { expect, test } from "bun:test";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newFolder, runBinary, runShell, TINY_FILE } from "../helpers/binary.ts";
import { COMMIT, fakeHub } from "../helpers/fake-hub.ts";
import { releaseKeys, writeRelease } from "../helpers/fake-release.ts";

test("a newer release takes the place of this one, an older one does not; a build of a checkout says how", async () => {
  const cwd = newFolder();
  const { key, pem } = releaseKeys();
  writeFileSync(join(cwd, "key.pem"), pem);
  const [newer, older] = [newFolder(), newFolder()];
  writeRelease(newer, "99.0.0", key);
  writeRelease(older, "0.0.1", key);
  const env = { SVC_RELEASE_URL: newer, SVC_RELEASE_KEY: join(cwd, "key.pem"), PATH: "/usr/bin:/bin" };
  const install = 'mkdir -p at/bin && { ln "$0" at/bin/svc 2>/dev/null || cp "$0" at/bin/svc; }';
  const steps = [
    install,
    `! at/bin/svc update --release ${older}`,
    "at/bin/svc update --check",
    "at/bin/svc update",
    "at/bin/svc --version",
  ];
  const { exit, out, err } = await runShell(steps.join(" && "), { cwd, env });
  expect([exit, err]).toEqual([0, expect.stringContaining("is the older svc 0.0.1")]);
  expect(err).toContain(`asking ${newer} for its newest release`);
  expect(out).toMatch(
    /^svc 99\.0\.0 is there; this is .*\nsvc 99\.0\.0 is installed in .*\nNo service .*\nsvc 99\.0\.0\n$/,
  );
  const built = await runBinary(["update"], { env });
  expect([built.exit, built.err]).toEqual([1, expect.stringMatching(/source checkout|install\.sh/)]);
});

test("downloads that the hub has newer revisions of are named, and nothing else is done", async () => {
  const hub = fakeHub({
    "acme/tiny-GGUF": { files: { "m-Q8_0.gguf": new Uint8Array(readFileSync(TINY_FILE)) } },
  });
  const env = { HF_ENDPOINT: hub.url, HF_HOME: newFolder() };
  expect((await runBinary(["update", "--models"], { env })).out).toContain("follows a branch of the hub");
  expect(hub.requests).toEqual([]);
  expect((await runBinary(["pull", "acme/tiny-GGUF"], { env })).exit).toBe(0);
  const same = await runBinary(["update", "--models"], { env });
  expect([same.exit, same.out]).toEqual([0, expect.stringMatching(/^acme\/tiny-GGUF .* current$/m)]);
  expect(same.err).toContain(`asking ${hub.url} about 1 downloaded`);
  const repository = join(env.HF_HOME, "hub/models--acme--tiny-GGUF");
  const old = "f".repeat(40);
  renameSync(join(repository, "snapshots", COMMIT), join(repository, "snapshots", old));
  writeFileSync(join(repository, "refs/main"), old);
  const before = hub.requests.length;
  const newer = await runBinary(["update", "--models"], { env });
  expect(newer.out).toMatch(
    /^acme\/tiny-GGUF +ffffffffffff +0123456789ab +newer: svc pull acme\/tiny-GGUF$/m,
  );
  expect(hub.requests.slice(before).every((line) => !line.includes("/resolve/"))).toBe(true);
  const offline = await runBinary(["update", "--models"], { env: { ...env, HF_HUB_OFFLINE: "1" } });
  expect([offline.exit, offline.err]).toEqual([1, expect.stringContaining("HF_HUB_OFFLINE")]);
});
