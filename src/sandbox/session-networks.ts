// Network of a session, shared by its executors: a token by which the network guard recognizes the session's own servers and, with
// network `loopback`, a network namespace held by a process. Deleted when the last executor leaves.

import { type ChildProcess, spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { defined } from "../core/defined.ts";
import { SANDBOX_PROBE_MS } from "./limits.ts";
import type { SharedNetwork } from "./types.ts";

/** Network of one session. */
interface Shared {
  members: number;
  readonly holder: Promise<Holder | undefined>;
}

interface Holder {
  /** Process in the network; the child may be its parent. */
  readonly pid: number;
  readonly child: ChildProcess;
}

export class SessionNetworks {
  /** Command that runs HOLD in a new network. Absent: no network is held. */
  private readonly holderWords: readonly string[] | undefined;
  /** Tokens are visible to other users in the guard's command line; session names must not be. */
  private readonly salt = randomBytes(16);
  private readonly networks = new Map<string, Shared>();

  constructor(holderWords: readonly string[] | undefined) {
    this.holderWords = holderWords;
  }

  /** If no process can hold a network, each call has its own. */
  async join(session: string): Promise<SharedNetwork> {
    const shared = this.networks.get(session) ?? { members: 0, holder: this.startHolder() };
    this.networks.set(session, shared);
    shared.members++;
    const token = createHash("sha256").update(this.salt).update(session).digest("base64url").slice(0, 22);
    const holder = await shared.holder;
    let isMember = true;
    return {
      token,
      ...defined({ holder: holder?.pid }),
      leave: () => {
        if (!isMember) return;
        isMember = false;
        if (--shared.members > 0) return;
        this.networks.delete(session);
        holder?.child.kill("SIGKILL");
      },
    };
  }

  private startHolder(): Promise<Holder | undefined> {
    const [program, ...args] = this.holderWords ?? [];
    if (program === undefined) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      // It reads from a pipe of the server until the server ends, for whatever reason.
      const child = spawn(program, args, { cwd: "/", stdio: ["pipe", "pipe", "ignore"] });
      const timer = setTimeout(() => child.kill("SIGKILL"), SANDBOX_PROBE_MS);
      const settle = (holder: Holder | undefined): void => {
        clearTimeout(timer);
        resolve(holder);
      };
      child.stdin.on("error", () => {});
      child.stdout.once("data", (line: Buffer) => settle({ pid: Number(String(line)), child }));
      child.once("error", () => settle(undefined));
      child.once("exit", () => settle(undefined));
    });
  }
}

/** Command of a holder: prints its process id, then waits for the end of its input. */
export const HOLD: readonly string[] = ["/bin/sh", "-c", "echo $$; read -r nothing"];
