// `svc estimate`: what models of a repository take of this machine, before anything is downloaded; no server is needed.

import { estimateTable } from "../cli/estimate-table.ts";
import { EXIT, type Invocation } from "../cli/invocation.ts";
import type { Loaded } from "../config/resolve.ts";
import { defined } from "../core/defined.ts";
import type { HubModelChoice, HubRepositoryDetails } from "../core/hub.ts";
import { formatRepo, type HubId, parseHubId } from "../core/hub-id.ts";
import { modelEntry } from "../core/model-entry.ts";
import { chooseModelFiles } from "../core/model-files.ts";
import { chosenParts } from "../hub/plan.ts";
import { hubPlace } from "../hub/place.ts";
import { readToken } from "../hub/token.ts";
import { repositoryDetails } from "../models/hub-fit.ts";
import { type CommandHost, failed, stoppable } from "./host.ts";

/** Prints what the models of a repository take. */
export async function estimate(
  { settings }: Loaded,
  { model: name, output }: Extract<Invocation, { command: "estimate" }>,
  host: CommandHost,
): Promise<number> {
  const id = parseHubId(name);
  const { machine } = host.options;
  if (id === undefined || machine === undefined) {
    host.complain(
      `svc: estimate: ${JSON.stringify(name)} names no repository. Give owner/name, such as Qwen/Qwen3-4B-GGUF; svc search finds one.`,
    );
    return EXIT.usage;
  }
  const place = hubPlace(host.environment, settings.models[0]?.device.hf_cache);
  if (place.offline)
    return failed(host, new Error("estimate: HF_HUB_OFFLINE forbids the network. Unset it."));
  const signal = stoppable(host, "it was stopped");
  try {
    const token = readToken(settings.global.token_source, place, host.environment);
    const repository = { repo: id.repo, ...defined({ revision: id.revision }) };
    const access = { endpoint: place.endpoint, token, signal };
    const details = await repositoryDetails(repository, access, { ...host.options, machine, place });
    if (details.models.length === 0)
      // says why
      chosenParts(
        id,
        details.files.map(({ path }) => path),
      );
    const models = wanted(details, id);
    if (output === "json") console.log(JSON.stringify({ ...details, models }, null, 2));
    else if (output === "toml") process.stdout.write(modelEntry(details, chosen(details, models, id)));
    else process.stdout.write(estimateTable({ ...details, models: [...models] }));
    return EXIT.ok;
  } catch (error) {
    return failed(host, error);
  }
}

/** The models that a name means: all of a repository, unless it names one. */
function wanted({ models }: HubRepositoryDetails, id: HubId): readonly HubModelChoice[] {
  if (id.quant === undefined && id.file === undefined) return models;
  const paths = models.flatMap(({ files }) => files);
  const found = chooseModelFiles(paths, defined({ quant: id.quant, file: id.file }));
  if (!found.ok) throw new Error(`${formatRepo(id)}: ${found.what}. ${found.fix}`);
  return models.filter(({ files }) => files.some((path) => found.parts.includes(path)));
}

/** The model of an entry. */
function chosen(
  { estimate: { reason } }: HubRepositoryDetails,
  models: readonly HubModelChoice[],
  id: HubId,
): HubModelChoice {
  const one = models.length === 1 ? models[0] : models.find((model) => model.is_default);
  if (one !== undefined) return one;
  throw new Error(`${formatRepo(id)}: ${reason}. Name one of its models: ${formatRepo(id)}:TYPE.`);
}
