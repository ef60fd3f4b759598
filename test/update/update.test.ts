// Updates from signed releases: what is refused, and that nothing has changed then.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installationOf, installRelease, releasePlace } from "../../src/update/install.ts";
import { findArchive, type ReleasePlace } from "../../src/update/release.ts";
import { restartService } from "../../src/update/service.ts";
import { compareVersions } from "../../src/update/version.ts";
import { failure } from "../helpers/failure.ts";
import { releaseKeys, signSums, writeRelease } from "../helpers/fake-release.ts";
import { tempDir } from "../helpers/tmp.ts";

const KEYS = releaseKeys();
const signal = new AbortController().signal;
const releases = tempDir();
let server: Bun.Server<undefined>;

beforeAll(() => {
  for (const version of ["0.9.5", "0.9.6"]) {
    mkdirSync(join(releases, version));
    writeRelease(join(releases, version), version, KEYS.key);
  }
  server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async ({ url }) => {
      const { pathname } = new URL(url);
      const file = Bun.file(join(releases, pathname.replace("/cut", "")));
      if (pathname.startsWith("/cut/") && pathname.endsWith(".gz"))
        return new Response((await file.bytes()).subarray(10));
      return (await file.exists()) ? new Response(file) : new Response("no", { status: 404 });
    },
  });
});
afterAll(() => server.stop(true));

function installed() {
  const prefix = tempDir();
  mkdirSync(join(prefix, "bin"));
  const program = join(prefix, "bin/svc");
  writeFileSync(program, "#!/bin/sh\necho svc 0.9.4\n", { mode: 0o755 });
  return { program, prefix };
}

const at = (version: string): ReleasePlace => ({
  address: `http://127.0.0.1:${server.port}/${version}`,
  key: KEYS.pem,
});
const versionOf = (program: string): string => Bun.spawnSync([program, "--version"]).stdout.toString().trim();

async function update(
  place: ReleasePlace,
  installation = installed(),
  mayDowngrade = false,
): Promise<string> {
  const archive = await findArchive(place, signal);
  await installRelease({ place, archive, installation, mayDowngrade, signal });
  return versionOf(installation.program);
}

test("two releases follow each other, over HTTP and from a folder; an older one needs permission", async () => {
  const installation = installed();
  expect(await update(at("0.9.5"), installation)).toBe("svc 0.9.5");
  expect(await update({ address: join(releases, "0.9.6"), key: KEYS.pem }, installation)).toBe("svc 0.9.6");
  expect(await failure(update(at("0.9.5"), installation))).toContain(
    "nothing was installed. Use --downgrade",
  );
  expect(versionOf(installation.program)).toBe("svc 0.9.6");
  expect(await update(at("0.9.5"), installation, true)).toBe("svc 0.9.5");
});

describe("refused", () => {
  const changed = (change: (folder: string) => void): ReleasePlace => {
    const folder = tempDir();
    writeRelease(folder, "0.9.7", KEYS.key);
    change(folder);
    return { address: folder, key: KEYS.pem };
  };
  const archive = `svc-0.9.7-${process.platform}-${process.arch}.tar.gz`;
  test.each<[string, () => ReleasePlace, string]>([
    ["another key", () => ({ ...at("0.9.5"), key: releaseKeys().pem }), "is wrong: nothing was changed"],
    ["a part of the archive", () => at("cut/0.9.6"), "does not have the SHA-256 sum"],
    ["what is no key", () => ({ ...at("0.9.5"), key: "x" }), "no public key in PEM form"],
    [
      "a changed list",
      () => changed((folder) => appendFileSync(join(folder, "SHA256SUMS"), "x")),
      "is wrong",
    ],
    [
      "a changed archive",
      () => changed((folder) => appendFileSync(join(folder, archive), "x")),
      "does not have the SHA-256 sum",
    ],
    ["no archive for here", () => changed((folder) => signSums(folder, "", KEYS.key)), "has no archive for"],
    [
      "two archives",
      () =>
        changed((folder) =>
          signSums(
            folder,
            [archive, archive].map((name) => `${"0".repeat(64)}  ${name}\n`).join(""),
            KEYS.key,
          ),
        ),
      "several archives",
    ],
    [
      "another version inside",
      () => changed((folder) => writeRelease(folder, "0.9.7", KEYS.key, "0.9.1")),
      "holds svc 0.9.1",
    ],
    ["no list", () => changed((folder) => rmSync(join(folder, "SHA256SUMS.sig"))), "holds no SHA256SUMS.sig"],
    ["an address without a release", () => at("0.1"), "answers with status 404"],
    [
      "an address that is away",
      () => ({ address: "http://127.0.0.1:1", key: KEYS.pem }),
      "could not be reached",
    ],
  ])("%s", async (_, place, said) => {
    const installation = installed();
    expect(await failure(update(place(), installation))).toContain(said);
    expect(versionOf(installation.program)).toBe("svc 0.9.4");
  });
});

test("a folder of an update that was killed is removed by the next one; no password of an address is shown", async () => {
  const folder = mkdtempSync(join(tmpdir(), ".svc-run-"));
  writeFileSync(join(folder, "lock"), ""); // which nobody holds
  expect(await update(at("0.9.5"))).toBe("svc 0.9.5");
  expect(existsSync(folder)).toBe(false);
  const secret = { ...at("0.9.6"), address: "http://me:secret@127.0.0.1:1/x" };
  const said = await failure(update(secret));
  expect([said, said.includes("secret")]).toEqual([expect.stringContaining("http://127.0.0.1:1/x/"), false]);
  expect(() => releasePlace(installed(), { address: "ftp://me:secret@x/y", keyFile: undefined })).toThrow(
    "ftp is no protocol that releases come by",
  );
});

test("versions are compared as install.sh does", () => {
  const rising = ["0.9.3", "0.9.4-rc1", "0.9.4-rc2", "0.9.4", "0.9.9", "0.10.0", "1.0", "1.0.1"];
  for (const [index, version] of rising.entries())
    for (const [other, than] of rising.entries())
      expect([version, than, Math.sign(compareVersions(version, than))]).toEqual([
        version,
        than,
        Math.sign(index - other),
      ]);
});

test("address and key are as install.sh has noted, or as named; what install.sh has not installed says how to update it", async () => {
  const installation = installed();
  const nothing = { address: undefined, keyFile: undefined };
  expect(() => releasePlace(installation, nothing)).toThrow("no address of releases is known");
  expect(() => releasePlace(installation, { ...nothing, address: "https://x" })).toThrow(
    "name its file in SVC_RELEASE_KEY",
  );
  mkdirSync(join(installation.prefix, "share/svc"), { recursive: true });
  writeFileSync(join(installation.prefix, "share/svc/release.url"), "https://x/\n");
  writeFileSync(join(installation.prefix, "share/svc/release.pem"), KEYS.pem);
  expect(releasePlace(installation, nothing)).toEqual({ address: "https://x", key: KEYS.pem.trim() });
  expect(installationOf(installation.program)).toEqual(installation);
  expect(() => installationOf(process.execPath)).toThrow("was not installed by install.sh");
  writeFileSync(join(installation.prefix, "bin/package.json"), "{}");
  expect(() => installationOf(installation.program)).toThrow("built from a source checkout");
});

test("the service is restarted by the manager that runs this executable, and no other", async () => {
  const { prefix, program } = installed();
  const calls = join(prefix, "calls");
  const fake = `#!/bin/sh\necho "$@" >> '${calls}'\n[ "$2" != show ] || echo "ExecStart={ path=${program} ; argv }\nActiveState=active"\n`;
  writeFileSync(join(prefix, "systemctl"), fake, { mode: 0o755 });
  const path = `${prefix}:/usr/bin:/bin`;
  expect(await restartService(program, path)).toEqual({ type: "restarted", manager: "systemctl --user" });
  expect(readFileSync(calls, "utf8")).toContain("--user restart svc.service");
  rmSync(calls);
  expect(await restartService("/elsewhere/svc", path)).toEqual({ type: "none" });
  expect(readFileSync(calls, "utf8")).not.toContain("restart");
});
