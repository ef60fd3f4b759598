// Opens the sandbox: tries the mechanisms of this machine and spawns processes with the best one.

import { ownUid } from "../core/private-folder.ts";
import { chmodSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { defined } from "../core/defined.ts";
import type { LauncherAbilities } from "../core/launcher.ts";
import { reasonOf } from "../core/reason.ts";
import { temporaryFolder } from "../core/temporary.ts";
import { SANDBOX_PROBE_MS, SANDBOX_TRIALS, WORKDIR_BYTES_MAX, WORKDIR_ENTRIES_MAX } from "./limits.ts";
import { bubblewrap, type BubblewrapOptions, descriptorsOf } from "./bubblewrap.ts";
import { startConfined } from "./confined-process.ts";
import { type Assignment, type Confinement, unconfined } from "./confinement.ts";
import { ControlGroups } from "./control-groups.ts";
import { confinedEnvironment, type Environment } from "./environment.ts";
import type { FolderSize } from "./folder-size.ts";
import {
  guardWords,
  holderWords,
  joinWords,
  launcher,
  launcherAbilities,
  NO_ABILITIES,
  scopeWords,
  VERSION_WITH_SCOPES,
} from "./launcher.ts";
import { sandboxExec } from "./macos.ts";
import { readPaths } from "./read-paths.ts";
import { HOLD, SessionNetworks } from "./session-networks.ts";
import type { EffectiveProtection, Mechanism, Sandbox, SandboxJob, SandboxPolicy } from "./types.ts";
import { SocketMemory } from "./socket-memory.ts";
import { ToolPeers } from "./tool-peers.ts";
import { UserFiles } from "./user-files.ts";
import { Watch } from "./watch.ts";
import { Workdirs } from "./workdirs.ts";

export interface SandboxOptions {
  readonly policy: SandboxPolicy;
  /** Environment of the server; an allow list of it passes. */
  readonly environment: Environment;
  /** Home of the server's user. */
  readonly home: string;
  /** Command that starts this executable; arguments follow. */
  readonly ownCommand: readonly string[];
  /** Mechanisms to try; absent: all of this system. */
  readonly mechanisms?: readonly Mechanism[];
  /** False simulates a machine without the network guard, for tests. */
  readonly guard?: boolean;
  /** False simulates a machine without cgroup v2, for tests. */
  readonly controlGroups?: boolean;
  /** Cap on a private folder. Default: limits.ts, WORKDIR_*. */
  readonly disk?: FolderSize;
}

/** A mechanism that works, and what it enforces. */
interface Choice {
  readonly confinement: Confinement;
  readonly filesystem: EffectiveProtection["filesystem"];
  readonly hasLimits: boolean;
  readonly warnings: readonly string[];
}

/** Tries mechanisms until one works. Throws, with one sentence, where the mode is `on` and something is missing. */
export async function openSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { policy } = options;
  const isLinux = policy.mode !== "off" && process.platform === "linux";
  const abilities = isLinux ? await launcherAbilities(options.ownCommand) : NO_ABILITIES;
  const isRoot = isLinux && process.getuid?.() === 0;
  const workdirs = new Workdirs({ isRoot, canMount: abilities.mounts });
  const choice = await choose(options, abilities, workdirs);
  if (policy.mode === "on") insist(choice, policy);
  const groups =
    choice.hasLimits && options.controlGroups !== false ? await ControlGroups.open(policy.limits) : undefined;
  return assemble(options, choice, workdirs, groups);
}

async function choose(
  options: SandboxOptions,
  abilities: LauncherAbilities,
  workdirs: Workdirs,
): Promise<Choice> {
  if (options.policy.mode === "off") {
    return nothing(["The sandbox is off: tools have all permissions of the server's user."]);
  }
  if (process.platform === "linux") return chooseOnLinux(options, abilities, workdirs);
  if (process.platform !== "darwin")
    return nothing(["This system has no supported sandbox: tools run unconfined."]);
  const confinement = sandboxExec(options.policy.network);
  const choice: Choice = { confinement, filesystem: "workdir", hasLimits: false, warnings: [] };
  const failure = await trial(options, choice, workdirs);
  if (failure === undefined) return choice;
  return nothing([`sandbox-exec does not work here (${failure}): tools run unconfined.`]);
}

async function chooseOnLinux(
  options: SandboxOptions,
  abilities: LauncherAbilities,
  workdirs: Workdirs,
): Promise<Choice> {
  const { policy, mechanisms } = options;
  const warnings: string[] = [];
  const isGuardable = policy.network === "full" && abilities.guards && options.guard !== false;
  const isWanted = (mechanism: Mechanism): boolean => mechanisms?.includes(mechanism) ?? true;
  const working = async (choice: Choice): Promise<Choice | string> =>
    (await trial(options, choice, workdirs)) ?? withReach(choice);

  const program = Bun.which("bwrap");
  if (isWanted("bubblewrap") && program !== null) {
    const found = await working({
      confinement: bubblewrapHere(program, options, abilities, isGuardable),
      filesystem: "workdir",
      hasLimits: true,
      warnings,
    });
    if (typeof found === "object") return found;
    warnings.push(`bubblewrap does not work here (${found}); the built-in launcher protects less.`);
  } else if (isWanted("bubblewrap")) {
    warnings.push("bubblewrap is not installed; the built-in launcher protects less.");
  }
  const found = await working(launcherHere(options, abilities, isGuardable, warnings));
  if (typeof found === "object") return found;
  if (isGuardable) {
    const closed = { ...options, policy: { ...policy, network: "none" as const } };
    const choice = await chooseOnLinux(closed, abilities, workdirs);
    const warning = `The network guard does not work here (${found}): tools have no network.`;
    return { ...choice, warnings: [...choice.warnings, warning] };
  }
  return nothing([...warnings, `The launcher does not work here (${found}): tools run unconfined.`]);
}

function bubblewrapHere(
  program: string,
  { policy, ownCommand }: SandboxOptions,
  abilities: LauncherAbilities,
  isGuarded: boolean,
): Confinement {
  const { profile, network, limits } = policy;
  const isScoped = network === "full" && abilities.landlock >= VERSION_WITH_SCOPES;
  const scope = (keep: readonly number[]): readonly string[] => scopeWords(ownCommand, keep, isGuarded);
  const guard = (job: Assignment): readonly string[] =>
    guardWords(ownCommand, job, { keep: descriptorsOf(job), allowsUnixSockets: true });
  return bubblewrap({
    program,
    profile,
    network,
    limits,
    ...(isScoped || isGuarded ? { scope } : {}),
    ...(isGuarded ? { guard } : {}),
    ...(network === "loopback" ? { shared: sharedNetwork(program, ownCommand) } : {}),
  });
}

/** Root enters a network as it is; an ordinary user by the user namespace that it belongs to. */
function sharedNetwork(
  program: string,
  ownCommand: readonly string[],
): NonNullable<BubblewrapOptions["shared"]> {
  if (process.getuid?.() === 0) {
    return {
      holder: holderWords(ownCommand),
      join: (holder, keep) => joinWords(ownCommand, keep, holder),
    };
  }
  return {
    holder: [
      program,
      "--unshare-user",
      "--unshare-net",
      "--die-with-parent",
      "--dev-bind",
      "/",
      "/",
      ...HOLD,
    ],
    join: (holder) => ["nsenter", `--target=${holder}`, "--user", "--net", "--preserve-credentials", "--"],
  };
}

function launcherHere(
  { policy, ownCommand }: SandboxOptions,
  abilities: LauncherAbilities,
  isGuarded: boolean,
  before: readonly string[],
): Choice {
  const { profile, network, limits } = policy;
  const uid = ownUid();
  const confinement = launcher({ ownCommand, abilities, profile, network, limits, uid, isGuarded });
  const filesystem = abilities.landlock === 0 ? "open" : "workdir";
  const warnings = [...before];
  if (filesystem === "open")
    warnings.push("This kernel has no Landlock: tools can reach all files of their user.");
  if (!abilities.seccomp) warnings.push("This kernel has no seccomp: system calls are not filtered.");
  if (confinement.network !== network) {
    const why =
      network === "loopback" && uid !== 0
        ? "needs bubblewrap where svc is not root"
        : "cannot be enforced here";
    warnings.push(`Network "${network}" ${why}: tools have "${confinement.network}".`);
  }
  return { confinement, filesystem, hasLimits: true, warnings };
}

/** Says so where tools can reach this machine's services. */
function withReach(choice: Choice): Choice {
  if (!choice.confinement.reachesMachine) return choice;
  const warning =
    'Network "full" includes this machine here: tools can reach its services, this server among them.';
  return { ...choice, warnings: [...choice.warnings, warning] };
}

function nothing(warnings: readonly string[]): Choice {
  return { confinement: unconfined, filesystem: "open", hasLimits: false, warnings };
}

function insist({ confinement, filesystem, hasLimits, warnings }: Choice, policy: SandboxPolicy): void {
  const isComplete =
    filesystem === "workdir" &&
    confinement.network === policy.network &&
    (!confinement.reachesMachine || confinement.mechanism === "sandbox-exec") &&
    (hasLimits || confinement.mechanism === "sandbox-exec");
  if (isComplete) return;
  throw new Error(`sandbox.mode is "on", but tools cannot be confined as configured: ${warnings.join(" ")}`);
}

/** Why the mechanism is of no use here; undefined when it works. What fails once on a busy machine is tried again. */
async function trial(
  options: SandboxOptions,
  choice: Choice,
  workdirs: Workdirs,
): Promise<string | undefined> {
  let failure: string | undefined;
  for (let n = 0; n < SANDBOX_TRIALS; n++) {
    failure = await tryOnce(options, choice, workdirs);
    if (failure === undefined) return undefined;
  }
  return failure;
}

/** Runs something that must work and something that must not. */
async function tryOnce(
  options: SandboxOptions,
  choice: Choice,
  workdirs: Workdirs,
): Promise<string | undefined> {
  const outside = temporaryFolder("trial");
  const sandbox = assemble(options, choice, workdirs);
  const workdir = sandbox.newWorkdir("trial");
  try {
    chmodSync(outside, 0o755);
    writeFileSync(join(outside, "file"), "");
    const seen = choice.filesystem === "workdir" ? 'if cat "$1" 2>/dev/null; then exit 9; fi;' : "";
    const argv = ["/bin/sh", "-c", `: > inside && ${seen} exit 0`, "sh", join(outside, "file")];
    const run = sandbox.spawn({ argv, workdir });
    const timer = setTimeout(() => run.kill(), SANDBOX_PROBE_MS);
    run.stdout.resume();
    const said = await text(run.stderr);
    const { code, signal } = await run.ended;
    clearTimeout(timer);
    if (code === 0) return undefined;
    if (code === 9) return "files outside could be read";
    return said.trim().split("\n").at(-1) || `it exited with ${code ?? signal}`;
  } catch (error) {
    return reasonOf(error);
  } finally {
    rmSync(outside, { recursive: true });
    await sandbox.removeWorkdir(workdir);
  }
}

function assemble(
  options: SandboxOptions,
  choice: Choice,
  workdirs: Workdirs,
  groups?: ControlGroups,
): Sandbox {
  const { policy, environment, home } = options;
  const { confinement, filesystem, warnings } = choice;
  const { profile, limits } = policy;
  const disk = options.disk ?? { bytes: WORKDIR_BYTES_MAX, entries: WORKDIR_ENTRIES_MAX };
  const watch = choice.hasLimits
    ? new Watch({ ...limits, disk }, new SocketMemory(options.ownCommand))
    : undefined;
  const users = new UserFiles();
  const networks = new SessionNetworks(confinement.holder);
  const peers = confinement.reachesMachine && choice.hasLimits ? new ToolPeers() : undefined;
  const known = new Map<string, readonly string[]>();
  const readable = (extra: readonly string[]): readonly string[] => {
    const key = extra.join("\0");
    const found = known.get(key) ?? readPaths({ profile, environment, home, extra });
    known.set(key, found);
    return found;
  };
  const environmentOf = ({ workdir, env }: SandboxJob): Record<string, string> => ({
    ...(confinement.mechanism === "none"
      ? Object.fromEntries(
          Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined),
        )
      : confinedEnvironment(environment, profile, workdir.path)),
    ...env,
  });
  return {
    effective: {
      mechanism: confinement.mechanism,
      filesystem,
      network: confinement.network === "full" && policy.network !== "full" ? "open" : confinement.network,
      reachesMachine: confinement.reachesMachine,
      ...(choice.hasLimits ? { limits, caps: groups === undefined ? "watching" : "cgroup v2" } : {}),
      warnings,
    },
    readPaths: () => readable([]),
    newWorkdir: (name, parent) => workdirs.create(name, parent),
    newWorkdirIn: (parent, name) => workdirs.createIn(parent, name),
    openWorkdir: (path) => workdirs.open(path),
    ...(peers === undefined ? {} : { isToolPeer: (peer, ownPort) => peers.isTool(peer, ownPort) }),
    joinNetwork: (session) => networks.join(session),
    removeWorkdir: async (workdir) => {
      await groups?.removeGroupOf(workdir);
      users.remove(workdir);
      workdirs.remove(workdir);
    },
    spawn: (job) => {
      const group = groups?.enter(job.workdir);
      const hasUser = confinement.mechanism === "bubblewrap" || job.workdir.uid !== undefined;
      const passwd = hasUser ? users.pathOf(job.workdir) : undefined;
      const readPaths = readable(job.readPaths ?? []);
      const run = startConfined({
        confinement,
        job: { ...job, readPaths, ...defined({ passwd, enter: group?.enterWords }) },
        env: environmentOf(job),
        ...defined({ group, watch, peers }),
      });
      if (group !== undefined) void run.ended.then(() => groups?.leave(job.workdir, group));
      return run;
    },
  };
}

async function text(stream: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts).toString();
}
