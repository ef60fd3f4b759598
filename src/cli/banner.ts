// Output of `svc serve` at start and when ready.

import { networkInterfaces } from "node:os";
import { modelName } from "../config/model-name.ts";
import { BUILTIN_MODEL_ID } from "../config/model-settings.ts";
import type { CompatMode } from "../core/compat.ts";
import type { Settings } from "../config/settings.ts";
import { inUrl, socketPathOf } from "../core/listen-addresses.ts";
import type { LoadFailure } from "../core/model-info.ts";
import { MCP_VERSION, VERSION } from "../core/version.ts";

/** Models that the start names; more are counted. */
const NAMES_MAX = 6;

/** What the mode means for programs of other servers. */
const COMPAT: Readonly<Record<CompatMode, string>> = {
  strict: "strict: what the interface refuses is refused; coding agents need --compat clients",
  clients: "clients: what coding agents and common clients send is served",
};

/** Ports and tools of a started server. */
export interface Surroundings {
  readonly port: number;
  /** Port of the MCP endpoint. */
  readonly mcpPort?: number;
  /** Port for Ollama's clients. */
  readonly ollamaPort?: number;
  /** Tools of the server in words; undefined for none. */
  readonly toolLine: string | undefined;
  /** Names of the served models, the default one first. */
  readonly names: readonly string[];
  /** Models that could not be loaded, with the reasons. */
  readonly failures?: readonly LoadFailure[];
}

/** First line: the server listens and loads its models; requests wait for them. */
export function listeningLine({ server, models }: Settings, { port }: Pick<Surroundings, "port">): string {
  return `svc ${VERSION} listening on ${address(server.host, port)} (loading ${models.map(modelName).join(", ")})`;
}

/** Lines once the models are loaded: addresses, models, tools. */
export function readyLines(
  { server, models }: Settings,
  { port, mcpPort, ollamaPort, toolLine, names: served, failures = [] }: Surroundings,
): readonly string[] {
  const names = served.filter((name) => !failures.some(({ id }) => id === name));
  const url = address(server.host, port);
  const socket = socketPathOf(server.host);
  const network = isAll(server.host) ? lanAddress() : undefined;
  const lines = [
    ...(server.no_ui || socket !== undefined ? [] : [`  chat    ${url}/ui`]),
    socket === undefined
      ? `  API     ${url}/v1   docs ${url}/docs`
      : `  API     ${url}   curl --unix-socket ${socket} http://localhost/v1/models`,
    ...(network === undefined
      ? []
      : [`  network http://${network}:${port}   --host 127.0.0.1: this machine only`]),
    ...(mcpPort === undefined
      ? []
      : [`  MCP     ${address(server.host, mcpPort)}/mcp   protocol ${MCP_VERSION}`]),
    ...(ollamaPort === undefined ? [] : [`  Ollama  ${address(server.host, ollamaPort)}`]),
    `  model   ${names.slice(0, NAMES_MAX).join(", ")}${names.length > NAMES_MAX ? `, ${names.length - NAMES_MAX} more` : ""}`,
    `  compat  ${COMPAT[server.compat]}`,
    ...failures.map(({ id, reason }) => `  failed  ${id}: ${reason}`),
    ...(toolLine === undefined ? [] : [`  tools   ${toolLine}`]),
  ];
  const hasToy = models.some(({ model_id, kind }) => model_id === BUILTIN_MODEL_ID && kind !== "upstream");
  if (hasToy && names[0] === BUILTIN_MODEL_ID) {
    lines.push(
      `  ${BUILTIN_MODEL_ID} is the built-in toy of 4 million parameters. It is for testing the API, not for answers.`,
      "  Serve a real model with: svc serve -m path/to/model.gguf",
    );
  }
  return lines;
}

function address(host: string, port: number): string {
  if (socketPathOf(host) !== undefined) return host;
  return `http://${isAll(host) ? "localhost" : inUrl(host)}:${port}`;
}

function isAll(host: string): boolean {
  return host === "0.0.0.0" || host === "::";
}

/** An address under which the network reaches this machine. */
function lanAddress(): string | undefined {
  const all = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return all.find(({ family, internal }) => family === "IPv4" && !internal)?.address;
}
