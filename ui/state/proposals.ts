// Models that a first visit proposes: the newest of the catalogue, by the memory that they need. Pure; the hub is asked when one is chosen.

import { CATALOGUE, CATALOGUE_ENTRIES, type CatalogueEntry } from "../../src/core/catalogue.ts";
import { t } from "../texts/texts.ts";

export interface Proposal {
  readonly source: string;
  readonly name: string;
  readonly what: string;
  /** Download, and memory with a context of 8,192 tokens, bytes. */
  readonly download: number;
  readonly memory: number;
}

/** Families that are proposed: the first of the catalogue. */
const NEWEST = 3;
/** Bytes of a weight, with the parts of a file that keep more bits. */
const WEIGHT_BYTES: Readonly<Record<string, number>> = { Q8_0: 1.07 };
const USUAL_WEIGHT_BYTES = 0.61;
const COMPUTE_BYTES = 2 ** 30;

/** From small to large. */
const KNOWN: readonly CatalogueEntry[] = CATALOGUE_ENTRIES.filter(({ family }) =>
  CATALOGUE.models.slice(0, NEWEST).some(({ name }) => name === family),
).toSorted((a, b) => a.billions - b.billions);

function proposalOf(entry: CatalogueEntry): Proposal {
  const { repo, quant, name, billions } = entry;
  const download = billions * 1e9 * (WEIGHT_BYTES[quant] ?? USUAL_WEIGHT_BYTES);
  return {
    source: `${repo}:${quant}`,
    name,
    what: whatOf(entry),
    download,
    memory: 1.1 * download + COMPUTE_BYTES,
  };
}

/** What a model is good for, by its size and kinds. */
function whatOf({ billions, kinds, size }: CatalogueEntry): string {
  const sees = kinds.includes("image");
  if (billions < 1) return t.proposals.tiny;
  if (billions < 3) return t.proposals.small;
  if (/-a\d/.test(size)) return t.proposals.mixture;
  if (billions > 60) return t.proposals.largest;
  if (billions > 15) return t.proposals.reasons;
  if (billions < 6) return sees ? t.proposals.languages : t.proposals.capable;
  return sees ? t.proposals.writes : t.proposals.allRounder;
}

/** Three that fit: a quick one, one in the middle, the largest. Fewer, if fewer fit. */
export function proposalsFor(memoryBytes: number, diskBytes: number): readonly Proposal[] {
  const fitting = KNOWN.map(proposalOf).filter(
    ({ memory, download }) => memory <= memoryBytes && download <= diskBytes,
  );
  const last = fitting.length - 1;
  const at = last < 3 ? [0, 1, 2] : [1, Math.ceil((1 + last) / 2), last];
  return at.flatMap((index) => fitting[index] ?? []);
}
