// Renews src/core/catalogue.json for a release: asks the hub for the commit, licence and parameters of each repository, and writes them with
// the day and the version. Ends without a change where one of them cannot be asked for.

import { CATALOGUE, type Catalogue, type CatalogueSize } from "../src/core/catalogue.ts";
import { VERSION } from "../src/core/version.ts";
import type { HubAccess } from "../src/hub/api.ts";
import { hubPlace } from "../src/hub/place.ts";
import { describeRepository } from "../src/hub/search.ts";

/** The catalogue as the hub has it now. Throws HubError. */
export async function renewed(before: Catalogue, access: HubAccess, today: Date): Promise<Catalogue> {
  const models = [];
  for (const model of before.models) {
    const sizes: CatalogueSize[] = [];
    let { license } = model;
    for (const size of model.sizes) {
      const { repository, commit } = await describeRepository({ repo: size.repo }, access);
      license = repository.license ?? license;
      const billions = repository.parameters === null ? size.billions : rounded(repository.parameters / 1e9);
      sizes.push({ ...size, billions, revision: commit });
    }
    models.push({ ...model, license, sizes });
  }
  return { date: today.toISOString().slice(0, 10), version: VERSION, models };
}

function rounded(billions: number): number {
  return Number(billions.toPrecision(3));
}

if (import.meta.main) {
  const { endpoint } = hubPlace(process.env);
  const catalogue = await renewed(CATALOGUE, { endpoint, token: process.env["HF_TOKEN"] }, new Date());
  await Bun.write(`${import.meta.dir}/../src/core/catalogue.json`, `${JSON.stringify(catalogue, null, 2)}\n`);
}
