// What a model is told of the sandbox: what really holds, not what was asked for.

import type { EffectiveProtection } from "../../sandbox/types.ts";

/** Two sentences on network and files. */
export function confinementNote({ network, reachesMachine, filesystem }: EffectiveProtection): string {
  return `${networkNote(network, reachesMachine)} ${filesystemNote(filesystem)}`;
}

function networkNote(network: EffectiveProtection["network"], reachesMachine: boolean): string {
  switch (network) {
    case "none":
      return "There is no network: opening a socket fails with EPERM.";
    case "loopback":
      return "Only addresses of this machine itself can be reached over the network.";
    case "full":
    case "open":
      return reachesMachine
        ? "The network can be used."
        : "The network can be used; of this machine only servers that you have started yourself can be reached.";
  }
}

function filesystemNote(filesystem: EffectiveProtection["filesystem"]): string {
  return filesystem === "workdir"
    ? "Of the files of this machine only system libraries and the working directory can be reached; only the working directory can be written."
    : "Files outside the working directory can be reached too; leave them as they are unless the user asks.";
}
