// Three models that fit this machine, for a server without one.

import { Download } from "lucide";
import { formatBytes } from "../format.ts";
import { installed, pull, pulls } from "../state/hub.ts";
import { type Proposal, proposalsFor } from "../state/proposals.ts";
import { Icon } from "../view/icon.tsx";

export function Proposals() {
  const machine = installed.value?.machine;
  if (machine === undefined) return null;
  const proposals = proposalsFor(machine.memory_free_bytes, machine.disk_free_bytes);
  return (
    <section class="proposals" aria-label="Models for this machine">
      <h3>Models for this machine</h3>
      <p class="faint">
        {formatBytes(machine.memory_free_bytes)} of memory and {formatBytes(machine.disk_free_bytes)} of disk
        are free. Models come from the Hugging Face hub and run here only.
      </p>
      {proposals.length === 0 && (
        <p class="note">
          None of the usual models fits. Free some memory or disk, or search for a small one.
        </p>
      )}
      <ul>
        {proposals.map((proposal) => (
          <ProposalView key={proposal.source} proposal={proposal} />
        ))}
      </ul>
    </section>
  );
}

function ProposalView({ proposal: { source, name, what, download } }: { readonly proposal: Proposal }) {
  const known = pulls.value.find((one) => one.source === source || one.model === source);
  const isRunning = known?.status === "downloading" || known?.status === "queued";
  const percent = known === undefined ? 0 : (known.completed_bytes / Math.max(1, known.total_bytes)) * 100;
  return (
    <li>
      <strong>{name}</strong>
      <span class="faint">{what}</span>
      <button type="button" disabled={isRunning} onClick={() => void pull(source)}>
        <Icon node={Download} size={15} />
        {isRunning ? `${Math.floor(percent)} %` : `Download ${formatBytes(download)}`}
      </button>
    </li>
  );
}
