// What `svc serve` says when it starts.

import { modelName } from "../config/model-name.ts";
import { BUILTIN_MODEL_ID } from "../config/model-settings.ts";
import type { Settings } from "../config/settings.ts";
import { MCP_VERSION, VERSION } from "../core/version.ts";

/** What the server turned out to be. */
export interface Surroundings {
  readonly port: number;
  /** Of the MCP endpoint, where there is one. */
  readonly mcpPort?: number;
  /** For Ollama's clients, where there is one. */
  readonly ollamaPort?: number;
  /** What models can do on it; undefined where that is nothing. */
  readonly toolLine: string | undefined;
}

/** Lines for the terminal: where the server listens, what it serves, and how to get further. */
export function banner(
  { server, models }: Settings,
  { port, mcpPort, ollamaPort, toolLine }: Surroundings,
): readonly string[] {
  const host = server.host === "0.0.0.0" || server.host === "::" ? "localhost" : server.host;
  const lines = [
    `svc ${VERSION} listening on http://${host}:${port}`,
    ...(server.no_ui ? [] : [`  chat  http://${host}:${port}/ui`]),
    `  API   http://${host}:${port}/v1   docs  http://${host}:${port}/docs`,
    ...(mcpPort === undefined ? [] : [`  MCP   http://${host}:${mcpPort}/mcp   protocol ${MCP_VERSION}`]),
    ...(ollamaPort === undefined ? [] : [`  Ollama's clients http://${host}:${ollamaPort}`]),
    `  model ${models.map(modelName).join(", ")}`,
    ...(toolLine === undefined ? [] : [`  tools ${toolLine}`]),
  ];
  if (models.some(({ model_id }) => model_id === BUILTIN_MODEL_ID)) {
    lines.push(
      "  This is the built-in model: a toy of 4 million parameters for trying the API. It knows next to nothing.",
      "  Load a real one with: svc serve -m path/to/model.gguf",
    );
  }
  return lines;
}
