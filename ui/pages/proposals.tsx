// Three models of the catalogue that fit this machine, for a server without one.

import { Download } from "lucide";
import { CATALOGUE } from "../../src/core/catalogue.ts";
import { formatBytes } from "../format.ts";
import { installed, pull, pulls } from "../state/hub.ts";
import { type Proposal, proposalsFor } from "../state/proposals.ts";
import { Icon } from "../view/icon.tsx";
import { t } from "../texts/texts.ts";

export function Proposals() {
  const machine = installed.value?.machine;
  if (machine === undefined) return null;
  const proposals = proposalsFor(machine.memory_free_bytes, machine.disk_free_bytes);
  return (
    <section class="proposals" aria-label={t.models.forMachine}>
      <h3>{t.models.forMachine}</h3>
      <p class="faint">
        {t.proposals.free(formatBytes(machine.memory_free_bytes), formatBytes(machine.disk_free_bytes))}{" "}
        {t.proposals.asOf(CATALOGUE.date)}
      </p>
      {proposals.length === 0 && <p class="note">{t.models.noneFits}</p>}
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
        {isRunning ? `${Math.floor(percent)} %` : t.common.downloadNamed(formatBytes(download))}
      </button>
    </li>
  );
}
