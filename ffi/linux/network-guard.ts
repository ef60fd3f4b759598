// The process above a confined one with network `full`: it makes the calls that name a destination in its place, so that
// every other machine can be reached and this one cannot (seccomp_unotify(2)). Starts the command, takes over the listener
// of its filter, and ends with it. When the guard dies, those calls fail: the kernel has no process to ask.

import { closeSync, openSync } from "node:fs";
import { GUARD_CHANNEL, type GuardPolicy, LAUNCHER_FAILED } from "../../src/core/launcher.ts";
import { reasonOf } from "../../src/core/reason.ts";
import { perform, type Result, type Wanted } from "./guard-calls.ts";
import { CONTINUE } from "./guard-servers.ts";
import { call, ERRNO, must, poll, startProgram } from "./guard-system.ts";
import { Target } from "./guard-target.ts";

const LISTENER = { receive: 0xc050_2100, send: 0xc018_2101, isValid: 0x4008_2102 } as const;
const NOTIFICATION_BYTES = 80;
const RESPONSE_BYTES = 24;
const CONTINUE_FLAG = 1;
const POLL_IN = 1;
const POLL_OUT = 4;
const POLL_HANG_UP = 16;
const SET_DESCRIPTOR_FLAGS = 2; // F_SETFD
const UNIX_STREAM_CLOSED_ON_EXECUTION = 1 | 0o2_000_000;
/** How often calls that wait are looked at: whether the process still waits, or has a signal to attend to. */
const WAITING_MS = 200;

/** A call that waits until its descriptor can be written to. */
interface Waiting {
  readonly id: bigint;
  readonly target: Target;
  readonly result: Extract<Result, object>;
}

/** Runs `svc sandbox-guard POLICY COMMAND…`. Returns the command's exit code, 128 and more after a signal. */
export function guardMain([policy = "{}", ...command]: readonly string[], env: Environment): number {
  try {
    return new Guard(JSON.parse(policy) as GuardPolicy).run(command, env); // our own process wrote it
  } catch (error) {
    console.error(`svc: the network guard failed: ${reasonOf(error)}`);
    return LAUNCHER_FAILED;
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

class Guard {
  private readonly policy: GuardPolicy;
  private waiting: Waiting[] = [];

  constructor(policy: GuardPolicy) {
    this.policy = policy;
  }

  run(command: readonly string[], env: Environment): number {
    const pair = Buffer.alloc(8);
    must("socketpair", 1, UNIX_STREAM_CLOSED_ON_EXECUTION, 0, pair);
    const channel = pair.readInt32LE(0);
    must("dup3", pair.readInt32LE(4), GUARD_CHANNEL, 0);
    call("close", pair.readInt32LE(4));
    for (const fd of [0, 1, 2, ...this.policy.keep]) call("fcntl", fd, SET_DESCRIPTOR_FLAGS, 0);
    const pid = startProgram(command, env);
    call("close", GUARD_CHANNEL);
    this.letGo();
    const child = must("pidfd_open", pid, 0);
    const listener = this.takeListener(channel, child);
    return listener === undefined ? exitCode(pid) : this.serve(listener, child, pid);
  }

  /** The command's pipes are its own: their other ends must see when it closes them. */
  private letGo(): void {
    const nothing = openSync("/dev/null", "r+");
    for (const fd of [0, 1, 2, ...this.policy.keep]) call("dup3", nothing, fd, 0o2_000_000);
    closeSync(nothing);
  }

  /** The listener that the launcher below has made, by its number there. Undefined where it has failed before. */
  private takeListener(channel: number, child: number): number | undefined {
    const told = Buffer.alloc(4);
    if (call("read", channel, told, 4) !== 4) return undefined;
    const listener = must("pidfd_getfd", child, told.readInt32LE(0), 0);
    must("write", channel, told, 1);
    call("close", channel);
    return listener;
  }

  private serve(listener: number, child: number, pid: number): number {
    let isHeard = true;
    for (;;) {
      const fds = [
        { fd: child, events: POLL_IN },
        { fd: isHeard ? listener : -1, events: POLL_IN },
        ...this.waiting.map(({ result }) => ({ fd: result.fd, events: POLL_OUT })),
      ];
      const [ended = 0, called = 0, ...ready] = poll(fds, this.waiting.length > 0 ? WAITING_MS : undefined);
      if (ended !== 0) return exitCode(pid);
      const { waiting } = this;
      this.waiting = [];
      for (const [index, item] of waiting.entries()) this.resume(listener, item, (ready[index] ?? 0) !== 0);
      if ((called & POLL_IN) !== 0) this.answer(listener);
      else if ((called & POLL_HANG_UP) !== 0) isHeard = false; // no process is left that the filter holds for
    }
  }

  private answer(listener: number): void {
    const notification = Buffer.alloc(NOTIFICATION_BYTES);
    if (call("ioctl", listener, LISTENER.receive, notification) < 0) return; // it was interrupted meanwhile
    const id = notification.readBigUInt64LE(0);
    const wanted: Wanted = {
      number: notification.readInt32LE(16),
      args: Array.from({ length: 6 }, (_, index) => Number(notification.readBigUInt64LE(32 + 8 * index))),
    };
    let target: Target;
    try {
      target = new Target(notification.readUInt32LE(8));
    } catch {
      return respond(listener, id, -ERRNO.EACCES);
    }
    const result = this.performed(wanted, target, () => isValid(listener, id));
    if (typeof result === "object") return void this.waiting.push({ id, target, result });
    target.close();
    respond(listener, id, result);
  }

  private performed(wanted: Wanted, target: Target, isStillValid: () => boolean): Result {
    try {
      return perform(wanted, target, this.policy, isStillValid);
    } catch {
      return -ERRNO.EACCES; // the process is gone, or the kernel does not answer as it should
    }
  }

  private resume(listener: number, item: Waiting, isReady: boolean): void {
    const { id, target, result } = item;
    const isGone = !isValid(listener, id);
    const value =
      isGone || (!isReady && target.hasSignal()) ? -ERRNO.EINTR : isReady ? result.again() : -ERRNO.EAGAIN;
    if (value === -ERRNO.EAGAIN) return void this.waiting.push(item);
    result.close();
    call("close", result.fd);
    target.close();
    if (!isGone) respond(listener, id, value);
  }
}

function isValid(listener: number, id: bigint): boolean {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(id);
  return call("ioctl", listener, LISTENER.isValid, bytes) === 0;
}

function respond(listener: number, id: bigint, result: Exclude<Result, object>): void {
  const response = Buffer.alloc(RESPONSE_BYTES);
  response.writeBigUInt64LE(id, 0);
  if (result === CONTINUE) response.writeUInt32LE(CONTINUE_FLAG, 20);
  else if (result >= 0) response.writeBigInt64LE(BigInt(result), 8);
  else response.writeInt32LE(result, 16);
  call("ioctl", listener, LISTENER.send, response);
}

/** Waits for the command's end. */
function exitCode(pid: number): number {
  const status = Buffer.alloc(4);
  while (call("wait4", pid, status, 0, 0) === -ERRNO.EINTR);
  const word = status.readInt32LE(0);
  const signal = word & 0x7f;
  return signal === 0 ? (word >> 8) & 0xff : 128 + signal;
}
