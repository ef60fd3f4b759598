// A server of its own that confines attempts to escape and reports what came of them, as JSON on standard output:
// `bun escape-run.ts MECHANISM`. A process apart, so that it can be started as another user than the tests. Attempts do
// real damage where nothing confines them, so without a mechanism only the HARMLESS ones are made, to show that they
// would succeed.

import { spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { ownCommand } from "../../src/core/own-command.ts";
import { runToEnd } from "../../src/exec/run-to-end.ts";
import { processes } from "../../src/sandbox/processes.ts";
import { openSandbox } from "../../src/sandbox/sandbox.ts";
import type {
  EffectiveProtection,
  Ending,
  Limits,
  Mechanism,
  Network,
  Sandbox,
} from "../../src/sandbox/types.ts";
import { until } from "./until.ts";

const SOURCES = join(import.meta.dir, "../sandbox");
const PYTHON = "/usr/bin/python3";
const MIB = 1024 * 1024;

/** One attempt's report, from attempts.py. */
export interface Attempt {
  readonly name: string;
  readonly escaped?: boolean;
  readonly how?: string;
  readonly why?: string;
  readonly broken?: string;
}

/** A program that takes more than it may. */
export interface Hog {
  readonly name: string;
  readonly effective: EffectiveProtection;
  readonly ending: Ending;
  readonly stdout: string;
  readonly stderr: string;
}

export interface EscapeReport {
  readonly effective: EffectiveProtection;
  readonly attempts: Readonly<Record<Network, readonly Attempt[]>>;
  readonly hogs: readonly Hog[];
  /** What lies outside afterwards. */
  readonly outside: readonly string[];
  readonly secret: string;
  /** Files with a name that only attempts use. */
  readonly traces: readonly string[];
  readonly isVictimAlive: boolean;
  /** Processes left over, by their words. */
  readonly leftovers: readonly string[];
}

/** Attempts that change nothing outside the folders of this run. */
const HARMLESS = [
  "attach_memory_of_the_server",
  "clone_into_a_user_namespace",
  "find_a_token_in_the_environment",
  "limit_the_server",
  "make_the_server_slow",
  "make_the_server_wait_for_the_disk",
  "move_the_server_to_another_processor",
  "open_a_netlink_socket",
  "open_a_udp_socket",
  "put_memory_where_it_is_not_counted",
  "open_a_socket_of_many_paths",
  "reach_a_datagram_socket_by_one_of_a_pair",
  "reach_a_datagram_socket_in_the_file_system",
  "reach_a_server_by_a_mapped_loopback_address",
  "reach_a_server_by_another_loopback_address",
  "reach_a_server_by_the_address_of_all",
  "reach_a_server_of_the_machine",
  "reach_a_socket_by_a_link",
  "reach_a_socket_in_the_file_system",
  "reach_an_abstract_socket",
  "read_a_file_outside",
  "read_a_key_in_the_home_of_the_server",
  "read_another_session",
  "read_by_a_path_with_dots",
  "read_the_command_line_of_the_server",
  "read_the_environment_of_the_server",
  "read_through_a_link",
  "serve_a_port_at_another_loopback_address",
  "serve_a_port_at_the_newer_loopback",
  "signal_the_server",
  "tell_a_server_by_a_connected_datagram_socket",
  "tell_a_server_by_a_datagram",
  "tell_a_server_by_a_message",
  "tell_a_server_by_an_address_without_a_family",
  "tell_a_server_by_many_messages",
  "take_a_file_that_the_server_has_open",
  "write_a_file_outside",
  "write_through_a_link",
];

const NETWORKS: readonly Network[] = ["none", "loopback", "full"];
const LIMITS: Limits = { memoryMb: 256, cpuSecs: 60, procs: 24 };
const DISK = { bytes: 24 * MIB, entries: 400 };
const RUN_MS = 60_000;
/** Found in the command line of a process that must not survive. Other runs have their own. */
const LEFTOVER = `svc-escape-leftover-${process.pid}`;

interface HogCase {
  readonly name: string;
  readonly code: string;
  readonly limits?: Partial<Limits>;
  readonly network?: Network;
}

/** Fills the buffers of many sockets. */
function socketHog(pair: string, then = "pass"): string {
  return `import socket,time
def connected():
  with socket.create_server(("127.0.0.1",0)) as l:
    a=socket.create_connection(l.getsockname()); return a,l.accept()[0]
kept=[]
for _ in range(400):
  a,b=${pair}
  try:
    for option in (socket.SO_SNDBUF,socket.SO_RCVBUF): a.setsockopt(socket.SOL_SOCKET,option,1<<21)
    a.setblocking(False)
    while True: a.send(b"x"*65536)
  except OSError: pass
  ${then}
  kept.append((a,b))
time.sleep(30)
print('done')`;
}

const HOGS: readonly HogCase[] = [
  {
    name: "forks",
    code: "import os,time\nn=0\ntry:\n  while n<200:\n    if os.fork()==0: time.sleep(20); os._exit(0)\n    n+=1\nexcept OSError: pass\nprint(n)",
  },
  {
    name: "threads",
    code: "import threading,time\nn=0\ntry:\n  while n<200:\n    threading.Thread(target=time.sleep,args=(20,),daemon=True).start(); n+=1\nexcept RuntimeError: pass\nprint(n,flush=True)\nimport os; os._exit(0)",
  },
  {
    name: "memory",
    code: "n=0\na=[]\ntry:\n  while n<64: a.append(bytearray(16<<20)); n+=1\nexcept MemoryError: pass\nprint(n*16)",
  },
  {
    name: "memory of many",
    code: "import os,time\nfor _ in range(6):\n  if os.fork()==0:\n    a=bytearray(os.urandom(1))*(120<<20); time.sleep(30); os._exit(0)\ntime.sleep(30)\nprint('done')",
  },
  {
    name: "shared memory",
    code: "import mmap,time\na=mmap.mmap(-1,1<<30)\nfor i in range(0,1<<30,4096): a[i]=1\ntime.sleep(30)\nprint('done')",
  },
  { name: "socket pairs", code: socketHog("socket.socketpair()"), limits: { memoryMb: 128 } },
  {
    name: "connections",
    code: socketHog("connected()"),
    limits: { memoryMb: 128 },
    network: "full",
  },
  {
    name: "pairs without one end",
    code: socketHog("socket.socketpair()", "a.close()"),
    limits: { memoryMb: 128 },
  },
  { name: "processor", code: "while True: pass", limits: { cpuSecs: 1 } },
  {
    name: "processor of many",
    code: "import os\nfor _ in range(3): os.fork()\nwhile True: pass",
    limits: { cpuSecs: 2 },
  },
  {
    name: "processor of the guard",
    code: "import socket\nwhile True:\n  try: socket.create_connection(('127.0.0.1',1))\n  except OSError: pass",
    limits: { cpuSecs: 2 },
    network: "full",
  },
  {
    name: "disk",
    code: "import time\nfor i in range(64): open(f'f{i}','wb').write(b'x'*(1<<20))\ntime.sleep(30)\nprint('done')",
  },
  {
    name: "files",
    code: "import time\nfor i in range(2000): open(f'f{i}','w').close()\ntime.sleep(30)\nprint('done')",
  },
  {
    name: "temporary files",
    code: "import time,tempfile,os\nfor i in range(64): open(f'{tempfile.gettempdir()}/f{i}','wb').write(b'x'*(1<<20))\ntime.sleep(30)\nprint('done')",
  },
  {
    name: "daemons",
    code: `import os,subprocess,sys\nif os.fork()==0:\n  try: os.setsid()\n  except OSError: pass\n  subprocess.Popen([sys.executable,'-c','import time; time.sleep(600)','${LEFTOVER}'])\n  os._exit(0)\nos.wait()\nprint('done')`,
  },
];

/** Hogs that run together: those that do nothing but wait for their end, and those that only take turns on the processors. */
const TOGETHER: readonly (readonly string[])[] = [
  ["connections", "disk", "files", "pairs without one end", "socket pairs", "temporary files"],
  ["processor", "processor of many", "processor of the guard"],
];

async function main(mechanism: Mechanism): Promise<EscapeReport> {
  const outside = mkdtempSync(join(tmpdir(), "svc-outside-"));
  chmodSync(outside, 0o755);
  writeFileSync(join(outside, "secret"), "secret");
  const home = mkdtempSync(join(tmpdir(), "svc-home-"));
  chmodSync(home, 0o755);
  mkdirSync(join(home, ".ssh"));
  writeFileSync(join(home, ".ssh/id_ed25519"), "secret");
  const abstract = `svc-escape-${process.pid}`;
  const victim = spawn(PYTHON, [join(SOURCES, "victim.py"), outside, abstract], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, SECRET_TOKEN: "secret" },
  });
  try {
    const facts: unknown = JSON.parse(await firstLine(victim.stdout));
    const addresses = Object.values(networkInterfaces()).flatMap((all) =>
      (all ?? []).flatMap(({ address, internal, scopeid }) => (internal || scopeid ? [] : [address])),
    );
    const common = { ...(facts as object), addresses, outside, abstract, victim: victim.pid, home };
    const runs = [];
    for (const network of NETWORKS) runs.push(await attemptAll(mechanism, network, common));
    const isConfined = runs.every(
      ({ effective }) => effective.mechanism === mechanism && mechanism !== "none",
    );
    const hogs = isConfined ? await runHogs(mechanism) : [];
    const [none, loopback, full] = runs;
    if (none === undefined || loopback === undefined || full === undefined)
      throw new Error("three runs were made");
    return {
      effective: none.effective,
      attempts: { none: none.attempts, loopback: loopback.attempts, full: full.attempts },
      hogs,
      outside: readdirSync(outside).sort(),
      secret: readFileSync(join(outside, "secret"), "utf8"),
      traces: ["/", "/usr", "/etc", "/dev", "/tmp", "/dev/shm"].flatMap((folder) => {
        const trace = join(folder, "svc-escape");
        return existsSync(trace) ? [trace] : [];
      }),
      isVictimAlive: victim.exitCode === null && victim.signalCode === null,
      leftovers: processes().flatMap(({ pid }) => {
        const words = commandLine(pid);
        return words.includes(LEFTOVER) ? [words] : [];
      }),
    };
  } finally {
    victim.stdin.end();
    for (const folder of [outside, home]) rmSync(folder, { recursive: true, force: true });
  }
}

function sandboxOf(mechanism: Mechanism, network: Network, limits: Limits, home = tmpdir()) {
  return openSandbox({
    policy: { mode: mechanism === "none" ? "off" : "auto", profile: "developer", network, limits },
    environment: { ...process.env, SECRET_TOKEN: "secret" },
    home,
    ownCommand: ownCommand(),
    mechanisms: [mechanism],
    disk: DISK,
  });
}

/** False where the machine lacks the mechanism, so that processes run unconfined. */
function isAsAsked({ effective }: Sandbox, mechanism: Mechanism): boolean {
  return mechanism !== "none" && effective.mechanism === mechanism && effective.filesystem === "workdir";
}

async function attemptAll(mechanism: Mechanism, network: Network, common: { readonly home: string }) {
  // Room for what the attempts need themselves.
  const sandbox = await sandboxOf(mechanism, network, { ...LIMITS, memoryMb: 1024 }, common.home);
  const other = sandbox.newWorkdir("other");
  const workdir = sandbox.newWorkdir("escape");
  try {
    const otherSession = join(other.path, "file");
    writeFileSync(otherSession, "theirs");
    chmodSync(otherSession, 0o666);
    const isConfined = isAsAsked(sandbox, mechanism);
    const facts = JSON.stringify({
      ...common,
      network,
      otherSession,
      ...(isConfined ? {} : { only: HARMLESS }),
    });
    const code = readFileSync(join(SOURCES, "attempts.py"), "utf8");
    const run = sandbox.spawn({ argv: [PYTHON, "-c", code, facts], workdir });
    const { stdout, stderr } = await runToEnd(run, RUN_MS);
    if (stderr !== "") console.error(stderr);
    const attempts = stdout
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Attempt);
    return { effective: sandbox.effective, attempts };
  } finally {
    await sandbox.removeWorkdir(workdir);
    await sandbox.removeWorkdir(other);
  }
}

async function runHogs(mechanism: Mechanism): Promise<readonly Hog[]> {
  const hogs: Hog[] = [];
  const groups = Map.groupBy(HOGS, ({ name }) => TOGETHER.find((names) => names.includes(name)) ?? name);
  for (const group of groups.values())
    hogs.push(...(await Promise.all(group.map((hog) => runHog(mechanism, hog)))));
  return hogs;
}

async function runHog(mechanism: Mechanism, { name, code, limits, network = "none" }: HogCase): Promise<Hog> {
  const sandbox = await sandboxOf(mechanism, network, { ...LIMITS, ...limits });
  if (!isAsAsked(sandbox, mechanism))
    throw new Error(`${mechanism} does not work every time: ${sandbox.effective.warnings.join(" ")}`);
  const workdir = sandbox.newWorkdir("hog");
  try {
    const run = sandbox.spawn({ argv: [PYTHON, "-c", code], workdir });
    const { ending, stdout, stderr } = await runToEnd(run, RUN_MS);
    return { name, effective: sandbox.effective, ending, stdout, stderr };
  } finally {
    await sandbox.removeWorkdir(workdir);
  }
}

async function firstLine(stream: AsyncIterable<Uint8Array>): Promise<string> {
  let heard = "";
  void (async () => {
    for await (const chunk of stream) heard += new TextDecoder().decode(chunk);
  })();
  return until("the victim is there", () => heard.includes("\n") && heard);
}

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return "";
  }
}

if (import.meta.main) {
  console.log(JSON.stringify(await main((process.argv[2] ?? "bubblewrap") as Mechanism)));
}
