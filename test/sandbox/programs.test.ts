// Programs of developers with network `full`, against servers on another machine of the local network (a network namespace):
// git over ssh and npm. Needs root, for the namespace, and an installed sshd. Slow: SVC_SLOW_TESTS=1.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sharedDir } from "../helpers/tmp.ts";

const SCRIPT = join(import.meta.dir, "../helpers/program-run.ts");
const NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
const NAMESPACE = `svc-lan-${process.pid}`;
const HERE = "10.213.77.1";
const THERE = "10.213.77.2";
const [SSH_PORT, NPM_PORT] = [2222, 8080];

const missing = ["/usr/sbin/sshd", "ip", "ssh", "ssh-keygen", "git", "npm", "python3", "setpriv"].filter(
  (name) => Bun.which(name, { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" }) === null,
);
const why =
  process.env["SVC_SLOW_TESTS"] !== "1"
    ? "slow: SVC_SLOW_TESTS=1"
    : process.platform !== "linux" || process.getuid?.() !== 0
      ? "need root on Linux"
      : missing.length > 0
        ? `missing: ${missing.join(", ")}`
        : must("ip netns add", ["ip", "netns", "add", NAMESPACE], false);
if (why !== undefined) console.warn(`SKIPPED: git over ssh and npm in the sandbox: ${why}`);

/** What is wrong, if anything is. */
function must(what: string, words: readonly string[], isFatal = true): string | undefined {
  const { exitCode, stderr } = Bun.spawnSync([...words]);
  const problem = exitCode === 0 ? undefined : `${what}: ${stderr.toString().trim()}`;
  if (problem !== undefined && isFatal) throw new Error(problem);
  return problem;
}

const servers: { kill(): void }[] = [];
let key = "";
let repository = "";

describe.if(why === undefined)("on the local network", () => {
  const lan = (...words: readonly string[]): readonly string[] => [
    "ip",
    "netns",
    "exec",
    NAMESPACE,
    ...words,
  ];

  beforeAll(async () => {
    const link = `svc${process.pid}`;
    must("veth", ["ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", NAMESPACE]);
    must("address", ["ip", "addr", "add", `${HERE}/30`, "dev", link]);
    must("up", ["ip", "link", "set", link, "up"]);
    must("address", lan("ip", "addr", "add", `${THERE}/30`, "dev", "eth0"));
    must("up", lan("ip", "link", "set", "eth0", "up"));
    must("up", lan("ip", "link", "set", "lo", "up"));
    const folder = sharedDir();
    repository = join(folder, "repository.git");
    key = join(folder, "key");
    must("ssh-keygen", ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key]);
    must("ssh-keygen", ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", join(folder, "host")]);
    must("git init", ["git", "init", "-q", "--bare", repository]);
    mkdirSync("/run/sshd", { recursive: true });
    const options = [
      `HostKey=${folder}/host`,
      `AuthorizedKeysFile=${key}.pub`,
      "StrictModes=no",
      "UsePAM=no",
      "PidFile=none",
    ].flatMap((option) => ["-o", option]);
    servers.push(
      Bun.spawn(
        [...lan("/usr/sbin/sshd", "-D", "-e", "-f", "/dev/null", "-p", String(SSH_PORT), ...options)],
        {
          stderr: "ignore",
        },
      ),
    );
    const registry = npmRegistry(join(folder, "registry"));
    servers.push(
      Bun.spawn([...lan("python3", "-m", "http.server", String(NPM_PORT), "--bind", THERE)], {
        cwd: registry,
        stdio: ["ignore", "ignore", "ignore"],
      }),
    );
  });

  afterAll(() => {
    for (const server of servers) server.kill();
    must("ip netns delete", ["ip", "netns", "delete", NAMESPACE]);
  });

  test.each([
    ["root", "bubblewrap", []],
    ["root", "launcher", []],
    ["an ordinary user", "bubblewrap", NOBODY],
    ["an ordinary user", "launcher", NOBODY],
  ] as const)("server run by %s, %s: git over ssh and npm install", async (user, mechanism, words) => {
    const commands = `cat >key <<'END'
${readFileSync(key, "utf8")}END
chmod 600 key
export GIT_SSH_COMMAND="ssh -i key -o IdentitiesOnly=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=known"
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
retry() { for n in 1 2 3 4 5; do "$@" && return; sleep 0.3; done; return 1; }
retry git clone -q ssh://root@${THERE}:${SSH_PORT}${repository} clone || exit 1
cd clone && echo ${mechanism} >"$(id -u)" && git add . && git commit -qm one && GIT_SSH_COMMAND="ssh -i ../key -o IdentitiesOnly=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=../known" git push -q origin HEAD:"refs/heads/$(id -u)-${mechanism}" || exit 2
cd .. && mkdir package && cd package && echo '{"name":"mine","version":"1.0.0"}' >package.json
npm install --silent --no-audit --no-fund --registry http://${THERE}:${NPM_PORT}/ demo || exit 3
node -e 'console.log(require("demo"))'`;
    const child = Bun.spawn([...words, process.execPath, SCRIPT, mechanism, commands], {
      cwd: "/",
      env: { PATH: "/usr/bin:/bin", HOME: "/tmp", TMPDIR: "/tmp" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const report = JSON.parse(await new Response(child.stdout).text());
    if (report.effective.mechanism !== mechanism || report.effective.reachesMachine) {
      return console.warn(`SKIPPED: ${user}, ${mechanism}: ${report.effective.warnings.join(" ")}`);
    }
    expect(report).toMatchObject({ exitCode: 0, stdout: "works\n" });
  });
});

/** The files of a registry with one package. Returns their folder. */
function npmRegistry(folder: string): string {
  mkdirSync(join(folder, "package"), { recursive: true });
  writeFileSync(join(folder, "package/package.json"), '{"name":"demo","version":"1.0.0","main":"main.js"}');
  writeFileSync(join(folder, "package/main.js"), 'module.exports = "works";');
  must("tar", ["tar", "-czf", join(folder, "demo-1.0.0.tgz"), "-C", folder, "package"]);
  const dist = { tarball: `http://${THERE}:${NPM_PORT}/demo-1.0.0.tgz` };
  const version = { name: "demo", version: "1.0.0", main: "main.js", dist };
  const document = { name: "demo", "dist-tags": { latest: "1.0.0" }, versions: { "1.0.0": version } };
  writeFileSync(join(folder, "demo"), JSON.stringify(document));
  chmodSync(folder, 0o755);
  return folder;
}
