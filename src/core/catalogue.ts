// Names that people know for models of the hub: `qwen3:4b`, `smollm2`. A name means a repository at its revision; which of its files is
// chosen by the machine. The data are renewed by scripts/catalogue.ts, at the latest for each release.

import data from "./catalogue.json";

export interface CatalogueSize {
  /** As people write it behind the colon: `4b`, `30b-a3b`. */
  readonly size: string;
  /** `owner/name`. */
  readonly repo: string;
  /** Commit that the name means; absent: the newest. */
  readonly revision?: string;
  /** Parameters, billions. */
  readonly billions: number;
  /** Type of the weights that a first visit proposes. */
  readonly quant: string;
}

interface CatalogueModel {
  readonly name: string;
  readonly license: string;
  /** What it takes and does: text, image, reasoning, tools. */
  readonly kinds: readonly string[];
  /** The size that the name alone means. */
  readonly usual: string;
  readonly sizes: readonly CatalogueSize[];
}

export interface Catalogue {
  /** Day on which the data were renewed. */
  readonly date: string;
  /** Release that they belong to. */
  readonly version: string;
  readonly models: readonly CatalogueModel[];
}

/** All names, newest families first. */
export const CATALOGUE: Catalogue = data;

/** A family and one of its sizes. */
export interface CatalogueEntry extends CatalogueSize {
  /** `qwen3:4b`. */
  readonly name: string;
  readonly license: string;
  readonly kinds: readonly string[];
  /** Of the families, in the order of the catalogue. */
  readonly family: string;
}

/** Every size of every family. */
export const CATALOGUE_ENTRIES: readonly CatalogueEntry[] = CATALOGUE.models.flatMap(
  ({ name, license, kinds, sizes }) =>
    sizes.map((one) => ({ ...one, name: `${name}:${one.size}`, family: name, license, kinds })),
);

const BY_NAME: ReadonlyMap<string, CatalogueEntry> = new Map([
  ...CATALOGUE_ENTRIES.map((entry) => [entry.name, entry] as const),
  ...CATALOGUE.models.flatMap(({ name, usual }) =>
    CATALOGUE_ENTRIES.filter((entry) => entry.name === `${name}:${usual}`).map(
      (entry) => [name, entry] as const,
    ),
  ),
]);

/** The entry of a name, in whatever case; undefined for all other words. */
export function catalogued(name: string): CatalogueEntry | undefined {
  return BY_NAME.get(name.toLowerCase());
}

/** Entries whose name or repository holds all words. */
export function searchCatalogue(text: string): readonly CatalogueEntry[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return CATALOGUE_ENTRIES.filter(({ name, repo }) =>
    words.every((word) => `${name} ${repo.toLowerCase()}`.includes(word)),
  );
}
