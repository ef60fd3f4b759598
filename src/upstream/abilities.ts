// What the upstreams of a pool can do together, and whether one of them can honour a request. Pure.

import { defined } from "../core/defined.ts";
import { ServiceError } from "../core/error.ts";
import { type Modality, modalitiesOf } from "../core/message.ts";
import type { TextFacts } from "../core/model-runtime.ts";
import type { RunRequest } from "../core/run.ts";
import { type Field, fieldsOf, unsupportedBy } from "./engines.ts";
import { CHAT_PATH, TEXT_PATH } from "./exchange.ts";
import type { UpstreamServer } from "./server.ts";

/** What a request needs of an upstream. */
export interface Needs {
  /** Fields with the names that the client knows them by. */
  readonly fields: ReadonlyMap<Field, string>;
  readonly modalities: readonly Modality[];
  /** Path of a request for vectors, scores, an image or speech; undefined for a run. */
  readonly path: string | undefined;
  /** The run is a completion of text. */
  readonly isText?: boolean;
}

/** What a run needs. */
export function needsOf(request: RunRequest): Needs {
  const { prompt } = request;
  const modalities = prompt.type === "chat" ? modalitiesOf(prompt.messages) : [];
  return { fields: fieldsOf(request), modalities, path: undefined, isText: prompt.type !== "chat" };
}

function pathFor({ path, isText }: Needs): string {
  return path ?? (isText === true ? TEXT_PATH : CHAT_PATH);
}

/** Whether an upstream can honour a request. */
export function honours(server: UpstreamServer, needs: Needs): boolean {
  if (server.learned.isLacking(pathFor(needs))) return false;
  return lackOf(server, needs) === undefined && !lacksMedia(server, needs);
}

/** The refusal of a request that no upstream can honour. It names the first field that the first upstream lacks. */
export function refusalBy(
  all: readonly UpstreamServer[],
  needs: Needs,
  name: string,
): ServiceError | undefined {
  const known = all.filter(({ isKnown }) => isKnown);
  const servers = known.length > 0 ? known : all;
  const [first] = servers;
  if (first === undefined || servers.some((server) => honours(server, needs))) return undefined;
  const field = lackOf(first, needs);
  if (field === undefined && servers.every((server) => server.learned.isLacking(pathFor(needs))))
    return missingRoute(name, pathFor(needs), needs);
  const engines = [...new Set(servers.map(({ facts }) => facts.engine))].join(", ");
  const param = field === undefined ? "messages" : (needs.fields.get(field) ?? field);
  const message =
    field === undefined
      ? `no upstream server of the model "${name}" takes media of these kinds; leave them out, or name another model`
      : `no upstream server of the model "${name}" (${engines}) supports ${param}; leave it out, or name another model`;
  return new ServiceError("unsupported_capability", message, { param });
}

/** Combined facts: the shortest context, media that any upstream accepts. */
export function textFactsOf(servers: readonly UpstreamServer[], stated: number | undefined): TextFacts {
  const known = servers.filter(({ isKnown }) => isKnown);
  const contexts = known.flatMap(({ facts }) => facts.contextTokens ?? []);
  const contextTokens = stated ?? (contexts.length === 0 ? undefined : Math.min(...contexts));
  const takes = (modality: Modality): boolean =>
    known.length === 0 || known.some((server) => server.facts.modalities?.includes(modality) ?? true);
  return {
    kind: "text",
    ...defined({ contextTokens }),
    generates: true,
    embeds: servers.some(({ isKnown, facts }) => !isKnown || (facts.embeds ?? true)),
    ranks: servers.length > 0,
    fillsGaps: false,
    thinks: known.some(({ facts }) => facts.thinks ?? true),
    modalities: (["image", "audio"] as const).filter(takes),
  };
}

/** A chat is what a model is for: without its route the servers are set up wrongly, and a fallback may answer. */
function missingRoute(name: string, path: string, { path: whole, isText }: Needs): ServiceError {
  const message = `no upstream server of the model "${name}" has the route ${path}; name another model`;
  const isChat = whole === undefined && isText !== true;
  return new ServiceError(isChat ? "upstream_failed" : "unsupported_capability", message);
}

/** The first field that an upstream lacks. */
function lackOf({ facts }: UpstreamServer, { fields }: Needs): Field | undefined {
  return unsupportedBy(facts.engine, fields);
}

function lacksMedia({ facts: { modalities } }: UpstreamServer, needs: Needs): boolean {
  return modalities !== undefined && needs.modalities.some((modality) => !modalities.includes(modality));
}
