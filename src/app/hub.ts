// What clients may do with models of the hub: search, look at a repository, pull, list and delete.

import type { Settings } from "../config/settings.ts";
import { processEnvironment } from "../config/sources.ts";
import { defined } from "../core/defined.ts";
import { type ErrorData, ServiceError } from "../core/error.ts";
import type {
  Hub,
  HubDeletedModel,
  HubInstalledResponse,
  HubPullRequest,
  HubRepositoryDetails,
  WatchedPull,
} from "../core/hub.ts";
import { type HubId, parseHubId } from "../core/hub-id.ts";
import type { Models } from "../engine/models.ts";
import { HubError } from "../hub/error.ts";
import { accessOf, type FetchOptions, type FetchPlan, fetchPlanned } from "../hub/fetch-model.ts";
import type { HubPlace } from "../hub/place.ts";
import { filesOf } from "../hub/plan.ts";
import { Pulls, type PullWork } from "../hub/pulls.ts";
import { blobOf, discardPartial, heldBytes } from "../hub/room.ts";
import { searchHub } from "../hub/search.ts";
import { readToken } from "../hub/token.ts";
import { planSource } from "../hub/url-plan.ts";
import { type OpenContent, rangeHeaders } from "../hub/api.ts";
import { FetchError, publicOpen } from "../net/public-fetch.ts";
import { toErrorData } from "../http/errors.ts";
import { type HubFitOptions, hubMachine, modelChooser, repositoryDetails } from "../models/hub-fit.ts";
import { installedModels, removeModels } from "../models/installed-models.ts";
import { serverHubPlace } from "../models/locate.ts";

export interface HubOptions extends HubFitOptions {
  readonly models: Models;
  readonly log: (line: string) => void;
}

/** A hub whose downloads can be stopped. */
export interface RunningHub extends Hub {
  /** Pauses all downloads. */
  stop(): Promise<void>;
}

/** The hub of a server. */
export function openHub(options: HubOptions): RunningHub {
  const place = serverHubPlace(options.settings);
  const explained = <T>(work: Promise<T>): Promise<T> =>
    work.catch((error: unknown) => {
      throw publicError(error, place);
    });
  const pulls = new Pulls({ failureOf: (error) => failureOf(error, place, options.log) });
  const server = { ...options, place, pulls };
  return {
    search: (query, signal) =>
      explained(searchHub(query, place, accessOf({ place, signal }, tokenOf(options.settings, place)))),
    repository: (name, signal) => explained(repository(name, server, signal)),
    installed: (): HubInstalledResponse => ({
      object: "list",
      data: [...installedModels(server)],
      machine: hubMachine(options.settings, place),
    }),
    remove: (name): Promise<HubDeletedModel> => explained(removeModels(name, server)),
    pull: (request, signal) => explained(startPull(request, server, signal)),
    pulls: () => pulls.list(),
    pullOf: (id) => pulls.find(id),
    pause: (id) => pulls.find(id).pause(),
    leave: (id) => pulls.leave(id),
    discard: (id) => pulls.discard(id),
    stop: () => pulls.stop(),
  };
}

interface Server extends HubOptions {
  readonly place: HubPlace;
  readonly pulls: Pulls;
}

function tokenOf({ global }: Settings, place: HubPlace): string | undefined {
  return readToken(global.token_source, place, processEnvironment());
}

function refuseOffline({ offline }: HubPlace): void {
  if (offline) throw new HubError("HF_HUB_OFFLINE forbids the network. Unset it and restart the server.");
}

/** A name of the hub as a request says it. Throws ServiceError. */
function hubId(name: string, param: string): HubId {
  const id = parseHubId(name);
  if (id !== undefined) return id;
  const message = `${param} ${JSON.stringify(name.slice(0, 200))} names no repository; send owner/name, such as Qwen/Qwen3-0.6B-GGUF`;
  throw new ServiceError("invalid_request", message, { param });
}

async function repository(name: string, server: Server, signal: AbortSignal): Promise<HubRepositoryDetails> {
  const { place, settings } = server;
  const { repo, revision } = hubId(name, "name");
  refuseOffline(place);
  const id = { repo, ...defined({ revision }) };
  const access = accessOf({ place, signal }, tokenOf(settings, place));
  return repositoryDetails(id, access, server);
}

async function startPull(request: HubPullRequest, server: Server, signal: AbortSignal): Promise<WatchedPull> {
  const { source, projector = "auto", draft = "auto" } = request;
  const options = fetchOptions(server);
  if (!/^https?:\/\//i.test(source)) hubId(source, "source");
  const wanted = { source, companions: { projector, draft }, sha256: request.sha256 };
  const plan = await planSource(wanted, { ...options, signal }, openPublic);
  return server.pulls.start(source, pullWork(plan, server, options));
}

const openPublicUrl = publicOpen();

/** Opens a URL that a client names: public addresses only. */
function openPublic(url: string): OpenContent {
  return (part, signal) =>
    openPublicUrl(url, part === undefined ? {} : rangeHeaders(part), signal).catch((error: unknown) => {
      // A server that does not answer may do so later; what is wrong with the URL stays wrong.
      if (error instanceof FetchError && error.cause === undefined)
        throw new HubError(`the URL cannot be used: ${error.message}`, "invalid_request");
      throw error;
    });
}

function fetchOptions(server: Server): FetchOptions {
  const { settings, place, log } = server;
  return {
    choose: modelChooser(server),
    place,
    token: () => tokenOf(settings, place),
    onProgress: () => undefined,
    log,
    refresh: true,
    isServed: true,
    maxBytes: settings.server.models_max_bytes,
  };
}

/** The download of a plan; its record makes that the model is served. */
function pullWork(plan: FetchPlan, { place, pulls }: Server, options: FetchOptions): PullWork {
  const { model } = plan;
  const { repo } = plan.id;
  const files = filesOf(plan);
  return {
    model,
    files: files.map((file) => ({
      path: file.path,
      bytes: file.bytes,
      ...(file.hash.length === 64 ? { sha256: file.hash } : {}),
      doneBytes: heldBytes(blobOf(place.cacheDir, repo, file)),
    })),
    run: async (onFile, signal) => {
      await fetchPlanned(plan, {
        ...options,
        onFile,
        signal,
        reservedBytes: () => pulls.reservedBytes(model),
      });
    },
    discard: () => files.forEach((file) => discardPartial(blobOf(place.cacheDir, repo, file))),
  };
}

/** What a client may know of a failure: no folder of this machine. */
function publicError(error: unknown, place: HubPlace): unknown {
  if (!(error instanceof HubError)) return error;
  const { message, code, retryAfterSecs } = error;
  const hidden = message
    .replaceAll(place.cacheDir, "the folder of models")
    .replaceAll(/--token-source names [^,]*/g, "--token-source names a place");
  const param = code === "invalid_request" ? "source" : undefined;
  return new ServiceError(code, hidden, { cause: error, ...defined({ retryAfterSecs, param }) });
}

function failureOf(error: unknown, place: HubPlace, log: (line: string) => void): ErrorData {
  if (error instanceof HubError) log(`pull: ${error.message}`);
  return toErrorData(publicError(error, place), log);
}
