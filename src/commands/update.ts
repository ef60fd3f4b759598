// `svc update`: a newer signed release in place of this one; with --models, which downloads the hub has newer revisions of. Says whom it
// asks before it does; nothing asks by itself.

import { shownAddress } from "../core/shown-address.ts";
import { EXIT, type Invocation } from "../cli/invocation.ts";
import { columns } from "../cli/table.ts";
import type { Loaded } from "../config/resolve.ts";
import { terminalText } from "../core/visible-text.ts";
import { VERSION } from "../core/version.ts";
import { hubPlace } from "../hub/place.ts";
import { type HubRevision, hubRevisions, localRevisions } from "../hub/revisions.ts";
import { readToken } from "../hub/token.ts";
import { type Installation, installationOf, installRelease, releasePlace } from "../update/install.ts";
import { findArchive, shown } from "../update/release.ts";
import { restartService } from "../update/service.ts";
import { compareVersions } from "../update/version.ts";
import { type CommandHost, failed, stoppable } from "./host.ts";

type Update = Extract<Invocation, { command: "update" }>;

/** Looks for what is newer, and installs a newer release. */
export async function update(loaded: Loaded, invocation: Update, host: CommandHost): Promise<number> {
  try {
    return invocation.models ? await modelRevisions(loaded, host) : await updateProgram(invocation, host);
  } catch (error) {
    return failed(host, error);
  }
}

async function updateProgram(
  { release, check, downgrade, restart }: Update,
  host: CommandHost,
): Promise<number> {
  const signal = stoppable(host, "update: it was stopped; nothing was changed");
  const installation = installationOf(process.execPath);
  const { SVC_RELEASE_URL: url, SVC_RELEASE_KEY: keyFile } = host.environment;
  const place = releasePlace(installation, { address: release ?? url, keyFile });
  host.complain(`svc: update: asking ${shown(place)} for its newest release`);
  const archive = await findArchive(place, signal);
  const order = compareVersions(archive.version, VERSION);
  if (order === 0) {
    console.log(`svc ${VERSION} is the release at ${shown(place)}.`);
    return EXIT.ok;
  }
  if (order < 0 && !downgrade) {
    host.complain(
      `svc: update: the release at ${shown(place)} is the older svc ${archive.version}, this is ${VERSION}: nothing was changed. Use --downgrade if that is what you want.`,
    );
    return EXIT.failure;
  }
  if (check) {
    console.log(`svc ${archive.version} is there; this is ${VERSION}. svc update installs it.`);
    return EXIT.ok;
  }
  await installRelease({ place, archive, installation, mayDowngrade: downgrade, signal });
  console.log(`svc ${archive.version} is installed in ${installation.program} (was: ${VERSION}).`);
  return restart ? restarted(installation, host) : EXIT.ok;
}

async function restarted({ program }: Installation, { complain, environment }: CommandHost): Promise<number> {
  const result = await restartService(program, environment["PATH"] ?? "");
  if (result.type === "restarted") console.log(`The service was restarted (${result.manager}).`);
  if (result.type === "none")
    console.log("No service runs it; a server that runs keeps the old one until it is started again.");
  if (result.type !== "failed") return EXIT.ok;
  complain(`svc: update: ${result.reason}`);
  return EXIT.failure;
}

async function modelRevisions({ settings }: Loaded, host: CommandHost): Promise<number> {
  const place = hubPlace(host.environment, settings.models[0]?.device.hf_cache);
  const local = localRevisions(place.cacheDir);
  if (local.length === 0) {
    console.log(`Nothing in ${place.cacheDir} follows a branch of the hub.`);
    return EXIT.ok;
  }
  if (place.offline && local.some(({ named }) => named === undefined))
    throw new Error("update: HF_HUB_OFFLINE forbids the network. Unset it.");
  const asked = local.filter(({ named }) => named === undefined).length;
  if (asked > 0)
    host.complain(
      `svc: update: asking ${shownAddress(place.endpoint)} about ${asked} downloaded repositories`,
    );
  const token = readToken(settings.global.token_source, place, host.environment);
  const signal = stoppable(host, "update: it was stopped");
  const found = await hubRevisions(local, { endpoint: place.endpoint, token, signal });
  process.stdout.write(revisionTable(found));
  for (const { failure } of found) if (failure !== undefined) host.complain(`svc: update: ${failure}`);
  return found.every(({ failure }) => failure !== undefined) ? EXIT.failure : EXIT.ok;
}

const COMMIT_CHARS = 12;

function revisionTable(found: readonly HubRevision[]): string {
  const rows = found.map(({ repo, ref, commit, newest, named }) => [
    terminalText(named !== undefined ? `${repo} (${ref})` : ref === "main" ? repo : `${repo}@${ref}`),
    commit.slice(0, COMMIT_CHARS),
    newest?.slice(0, COMMIT_CHARS) ?? "?",
    newest === undefined
      ? "not known"
      : newest === commit
        ? "current"
        : `newer: svc pull ${terminalText(named === undefined ? repo : ref)}`,
  ]);
  return columns([["REPOSITORY", "HERE", "HUB", ""], ...rows], () => false);
}
