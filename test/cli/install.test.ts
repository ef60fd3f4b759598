// install.sh as it works from a release archive; building from source is for the slower rings.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadSettings } from "../../src/config/resolve.ts";

const SCRIPT = new URL("../../install.sh", import.meta.url).pathname;
let folder = "";
let archive = "";

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "svc install-"));
  archive = join(folder, "svc-0.9.4");
  mkdirSync(archive);
  copyFileSync(SCRIPT, join(archive, "install.sh"));
  chmodSync(join(archive, "install.sh"), 0o755);
  copyFileSync(new URL("../../packaging/svc.toml", import.meta.url).pathname, join(archive, "svc.toml"));
});

beforeEach(() => release("first"));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Puts a binary into the archive that prints `word`. */
function release(word: string): void {
  writeFileSync(join(archive, "svc"), `#!/bin/sh\necho ${word}\n`, { mode: 0o755 });
}

/** A program for the installer to find, which writes down how it was called. */
function fake(name: string, script = ""): void {
  mkdirSync(join(folder, "fakes"), { recursive: true });
  const text = `#!/bin/sh\n${script}\necho ${name} "$@" >> '${join(folder, "calls")}'\n`;
  writeFileSync(join(folder, "fakes", name), text, { mode: 0o755 });
}

function calls(): readonly string[] {
  const file = join(folder, "calls");
  const lines = existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : [];
  rmSync(file, { force: true });
  return lines;
}

/** A home of its own with these programs before those of the system. */
function machine(name: string): { readonly home: string; readonly environment: Record<string, string> } {
  const home = join(folder, name);
  const PATH = `${join(folder, "fakes")}:/usr/bin:/bin`;
  return {
    home,
    environment: { HOME: home, PATH, SVC_PROC: join(home, "proc"), SVC_DEV: join(home, "dev") },
  };
}

function install(args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const env = { PATH: "/usr/bin:/bin", HOME: join(folder, "home"), ...environment };
  const run = Bun.spawnSync([join(archive, "install.sh"), ...args], { cwd: folder, env });
  return { exit: run.exitCode, out: run.stdout.toString(), err: run.stderr.toString() };
}

function runs(binary: string): string {
  return Bun.spawnSync([binary]).stdout.toString().trim();
}

test.each([
  ["--user", "home/.local/bin"],
  ["--install", "home/.local/bin"],
  ["", "home/.local/bin"],
  ["--prefix=a prefix", "a prefix/bin"],
])("%p installs into %s, relative to the caller, and says that it is not on PATH", (option, bin) => {
  const { exit, out } = install(option === "" ? [] : [option]);
  expect(exit).toBe(0);
  expect(runs(join(folder, bin, "svc"))).toBe("first");
  expect(out).toContain(`${join(folder, bin)} is not on PATH`);
});

test("an absolute prefix on PATH, twice: replaced whole, nothing left beside it", () => {
  const prefix = join(folder, "twice here");
  const bin = join(prefix, "bin");
  const PATH = `/usr/bin:/bin:${bin}`;
  expect(install(["--prefix", prefix], { PATH }).out).toContain("start it with: svc serve");
  release("second");
  expect(install(["--prefix", prefix], { PATH }).exit).toBe(0);
  expect(runs(join(bin, "svc"))).toBe("second");
  expect(readdirSync(bin)).toEqual(["svc"]);
});

test.each([
  ["svc 0.9.4", "svc 0.9.3", true],
  ["svc 0.10.0", "svc 0.9.9", true],
  ["svc 1.0.0", "svc 1.0.0-rc1", true],
  ["svc 1.0.0-rc2", "svc 1.0.0-rc1", true],
  ["svc 0.9.4", "svc 0.9.4", false],
  ["svc 0.9.9", "svc 0.10.0", false],
  ["svc 1.0.0-rc1", "svc 1.0.0", false],
  ["svc 1.0", "svc 1.0.1", false],
  ["something else", "svc 0.1.0", false],
])("%s is replaced by %s: refused %p", (before, after, isRefused) => {
  const prefix = join(folder, "older");
  rmSync(prefix, { recursive: true, force: true });
  release(before);
  expect(install(["--prefix", prefix]).exit).toBe(0);
  release(after);
  const { exit, err } = install(["--prefix", prefix]);
  expect(exit).toBe(isRefused ? 1 : 0);
  if (isRefused) expect(err).toContain("Use --downgrade");
  expect(runs(join(prefix, "bin/svc"))).toBe(isRefused ? before : after);
  expect(install(["--prefix", prefix, "--downgrade"]).exit).toBe(0);
  expect(runs(join(prefix, "bin/svc"))).toBe(after);
});

test("--help explains and touches nothing", () => {
  const { exit, out } = install(["--help"], { HOME: join(folder, "nobody") });
  expect([exit, out.includes("--prefix DIR"), existsSync(join(folder, "nobody"))]).toEqual([0, true, false]);
});

const SHELLCHECK = Bun.which("shellcheck");
if (SHELLCHECK === null) console.warn("SKIPPED: the check of install.sh: there is no shellcheck");

test.skipIf(SHELLCHECK === null)("shellcheck finds nothing", () => {
  expect(Bun.spawnSync(["shellcheck", SCRIPT]).stdout.toString()).toBe("");
});

test("--service writes settings and a unit, starts it, and keeps settings the next time", () => {
  fake("uname", "case $1 in -s) echo Linux ;; *) echo x86_64 ;; esac");
  fake("systemctl");
  const { home, environment } = machine("a home 100%");
  expect(install(["--service"], environment).exit).toBe(0);
  const unit = readFileSync(join(home, ".config/systemd/user/svc.service"), "utf8");
  const inUnit = home.replaceAll("%", "%%");
  expect(unit).toContain(`ExecStart="${inUnit}/.local/bin/svc" serve "${inUnit}/.config/svc/svc.toml"\n`);
  const config = join(home, ".config/svc/svc.toml");
  expect(readFileSync(config, "utf8")).toContain('host = "127.0.0.1"');
  expect(calls().filter((call) => call.startsWith("systemctl"))).toEqual([
    "systemctl --user show-environment",
    "systemctl --user daemon-reload",
    "systemctl --user enable svc.service",
    "systemctl --user restart svc.service",
  ]);
  writeFileSync(config, "mine");
  expect(install(["--service"], environment).exit).toBe(0);
  expect(readFileSync(config, "utf8")).toBe("mine");
});

test("the settings of a service are settings that svc takes", () => {
  fake("uname", "case $1 in -s) echo Linux ;; *) echo x86_64 ;; esac");
  fake("systemctl");
  const { home, environment } = machine("checked");
  install(["--service"], environment);
  const loaded = loadSettings({ configFile: join(home, ".config/svc/svc.toml"), environment: {} });
  expect(loaded).toMatchObject({
    settings: { server: { host: "127.0.0.1", port: 1234, compat: "clients" } },
  });
});

test("without a systemd of the user the unit is there, and that is said", () => {
  fake("uname", "case $1 in -s) echo Linux ;; *) echo x86_64 ;; esac");
  fake("systemctl", "exit 1");
  const { home, environment } = machine("no bus");
  const { exit, out } = install(["--service"], environment);
  expect(exit).toBe(0);
  expect(out).toContain("there is no systemd user session here");
  expect(existsSync(join(home, ".config/systemd/user/svc.service"))).toBe(true);
});

test("--service on macOS writes an agent and loads it", () => {
  fake("uname", "case $1 in -s) echo Darwin ;; *) echo arm64 ;; esac");
  fake("launchctl");
  const { home, environment } = machine("R & D");
  expect(install(["--service"], environment).exit).toBe(0);
  const agent = join(home, "Library/LaunchAgents/svc.plist");
  const text = readFileSync(agent, "utf8");
  expect(text).toContain(`<string>${home.replace("&", "&amp;")}/.local/bin/svc</string>`);
  const id = process.getuid?.();
  expect(calls().filter((call) => call.startsWith("launchctl"))).toEqual([
    `launchctl bootout gui/${id}/svc`,
    `launchctl bootstrap gui/${id} ${agent}`,
  ]);
  expect(install(["--uninstall"], environment).exit).toBe(0);
  expect(existsSync(agent)).toBe(false);
});

test("--uninstall leaves settings and what others own, and may be repeated", () => {
  fake("uname", "case $1 in -s) echo Linux ;; *) echo x86_64 ;; esac");
  fake("systemctl");
  const { home, environment } = machine("leaving");
  install(["--service"], environment);
  mkdirSync(join(home, ".cache/svc/libs"), { recursive: true });
  mkdirSync(join(home, ".cache/huggingface"), { recursive: true });
  writeFileSync(join(home, ".local/bin/other"), "");
  calls();
  const { exit, out } = install(["--uninstall"], environment);
  expect(exit).toBe(0);
  expect(out).toContain(`kept ${join(home, ".config/svc/svc.toml")}`);
  const rest = [...new Bun.Glob("**/*").scanSync({ cwd: home, dot: true, onlyFiles: true })].toSorted();
  expect(rest).toEqual([".config/svc/svc.toml", ".local/bin/other"]);
  expect(existsSync(join(home, ".cache/svc"))).toBe(false);
  expect(existsSync(join(home, ".cache/huggingface"))).toBe(true);
  expect(calls().filter((call) => call.startsWith("systemctl"))).toEqual([
    "systemctl --user disable --now svc.service",
    "systemctl --user daemon-reload",
  ]);
  expect(install(["--uninstall"], environment).exit).toBe(0);
  expect(calls().filter((call) => call.startsWith("systemctl"))).toEqual([]);
});

test("a graphics card is named, and that this build does not use it", () => {
  fake("uname", "case $1 in -s) echo Linux ;; *) echo x86_64 ;; esac");
  const { home, environment } = machine("with a card");
  expect(install([], environment).out).not.toContain("graphics card");
  mkdirSync(join(home, "proc/driver/nvidia"), { recursive: true });
  writeFileSync(join(home, "proc/driver/nvidia/version"), "");
  const { out } = install([], environment);
  expect(out).toContain("found a graphics card: NVIDIA (CUDA)\n");
  expect(out).toContain("models run on the processor");
});

test("a checkout without libraries for the platform says so before it installs anything", () => {
  fake("uname", "case $1 in -s) echo Linux ;; *) echo riscv64 ;; esac");
  writeFileSync(join(archive, "package.json"), "{}");
  const { exit, err } = install([], machine("elsewhere").environment);
  rmSync(join(archive, "package.json"));
  expect(exit).toBe(1);
  expect(err).toContain("no native libraries for linux-riscv64");
});

test.each([
  [["--service", "--uninstall"], 2, "exclude each other"],
  [["--prefx"], 2, "--prefx is not an option"],
  [["--prefix"], 2, "--prefix needs a directory"],
  [["--prefix", "/dev/null"], 1, "cannot create /dev/null/bin"],
])("%p ends with %d: %s", (args, code, words) => {
  const { exit, err } = install(args);
  expect(exit).toBe(code);
  expect(err).toContain(words);
});

test("a folder with neither sources nor a binary is refused", () => {
  rmSync(join(archive, "svc"));
  expect(install([])).toMatchObject({ exit: 1 });
});

describe("from a release", () => {
  const system = "linux-x64";
  const SIGNED = Bun.which("openssl") !== null && Bun.which("tar") !== null;
  if (!SIGNED) console.warn("SKIPPED: installing from a release: there is no openssl or tar");
  const place = join(tmpdir(), `svc-release-test-${process.pid}`);
  const shell = (line: string) => Bun.spawnSync(["sh", "-ec", line], { cwd: place });

  /** A release folder with an executable that prints `word`, signed by `key.pem`. */
  function publish(word: string): void {
    const name = `svc-1.2.3-${system}`;
    mkdirSync(join(place, name), { recursive: true });
    writeFileSync(join(place, name, "svc"), `#!/bin/sh\necho ${word}\n`, { mode: 0o755 });
    shell(`[ -f key.pem ] || openssl ecparam -name prime256v1 -genkey -noout -out key.pem
      openssl pkey -in key.pem -pubout -out public.pem
      mkdir -p dist && tar -czf dist/${name}.tar.gz ${name} && cd dist
      sha256sum ${name}.tar.gz >SHA256SUMS && openssl dgst -sha256 -sign ../key.pem -out SHA256SUMS.sig SHA256SUMS`);
  }

  /** The script through a pipe, as curl hands it to sh. */
  function piped(home: string, ...args: readonly string[]) {
    fake("uname", "case $1 in -s) echo Linux ;; *) echo x86_64 ;; esac");
    const env = {
      HOME: join(place, home),
      PATH: `${join(folder, "fakes")}:/usr/bin:/bin`,
      SVC_RELEASE_URL: join(place, "dist"),
      SVC_RELEASE_KEY: join(place, "public.pem"),
    };
    const run = Bun.spawnSync(["sh", "-s", "--", ...args], { cwd: place, env, stdin: Bun.file(SCRIPT) });
    return { exit: run.exitCode, text: run.stdout.toString() + run.stderr.toString() };
  }

  beforeEach(() => publish("released"));
  afterAll(() => rmSync(place, { recursive: true, force: true }));

  test.skipIf(!SIGNED)("a pipe installs, upgrades and keeps what is there", () => {
    expect(piped("home")).toMatchObject({ exit: 0, text: expect.stringContaining("the signature is good") });
    const bin = join(place, "home/.local/bin/svc");
    expect(runs(bin)).toBe("released");
    mkdirSync(join(place, "home/.config/svc"), { recursive: true });
    writeFileSync(join(place, "home/.config/svc/svc.toml"), "mine");
    const url = join(place, "home/.local/share/svc/release.url"); // what svc update asks next
    expect(readFileSync(url, "utf8").trim()).toBe(join(place, "dist"));
    publish("newer");
    writeFileSync(join(place, "home/.local/bin/.svc.4194305"), "of an installation that was killed");
    writeFileSync(join(place, "home/.local/bin/.svc.mine"), "of somebody else");
    expect(piped("home").text).toContain("(was: released)");
    expect(readdirSync(join(place, "home/.local/bin")).toSorted()).toEqual([".svc.mine", "svc"]);
    expect(runs(bin)).toBe("newer");
    expect(readFileSync(join(place, "home/.config/svc/svc.toml"), "utf8")).toBe("mine");
  });

  test.skipIf(!SIGNED)("a changed archive, a changed list, another key: nothing is installed", () => {
    shell(`printf x >>dist/svc-1.2.3-${system}.tar.gz`);
    expect(piped("other")).toMatchObject({ exit: 1, text: expect.stringContaining("SHA-256") });
    shell("sed -i 's/^./x/' dist/SHA256SUMS");
    expect(piped("other").text).toContain("is wrong: nothing was installed");
    shell("rm key.pem");
    publish("foreign");
    shell("openssl ecparam -name prime256v1 -genkey -noout | openssl pkey -pubout -out public.pem");
    expect(piped("other").text).toContain("is wrong: nothing was installed");
    expect(existsSync(join(place, "other/.local"))).toBe(false);
  });
});
