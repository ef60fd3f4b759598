// Describes the sandbox to the model and to the user who decides on an action: the effective protection, not the configured one.

import type { ActionReach } from "../../core/agent.ts";
import type { EffectiveProtection } from "../../sandbox/types.ts";

/** Two sentences on network and files. */
export function confinementNote({ network, reachesMachine, filesystem }: EffectiveProtection): string {
  return `${networkNote(network, reachesMachine)} ${filesystemNote(filesystem)}`;
}

function networkNote(network: EffectiveProtection["network"], reachesMachine: boolean): string {
  switch (network) {
    case "none":
      return "No network: opening a socket fails with EPERM.";
    case "loopback":
      return "The network reaches only addresses of this machine.";
    case "full":
    case "open":
      return reachesMachine
        ? "The network is available."
        : "The network is available; of this machine's servers only those that you started yourself can be reached.";
  }
}

function filesystemNote(filesystem: EffectiveProtection["filesystem"]): string {
  return filesystem === "workdir"
    ? "Only system libraries and the working directory can be read; only the working directory can be written."
    : "Files outside the working directory can be accessed too; do not change them unless the user asks.";
}

/** What code in the sandbox can reach, for the user. */
export function reachOf({ network, reachesMachine, filesystem }: EffectiveProtection): ActionReach {
  const files =
    filesystem === "workdir"
      ? "reads and changes only this conversation's working folder"
      : "can read and change everything that the server's user may";
  return { files, network: networkReach(network, reachesMachine) };
}

function networkReach(network: EffectiveProtection["network"], reachesMachine: boolean): string {
  switch (network) {
    case "none":
      return "none";
    case "loopback":
      return "this machine only";
    case "full":
    case "open":
      return reachesMachine
        ? "the internet and this machine"
        : "the internet, but no other server of this machine";
  }
}
