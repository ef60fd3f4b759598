// The start-up rules that hold between settings. Knows settings by name and nothing of where they come from beyond the
// origin that a problem names.

import { accessProblems } from "./access-rules.ts";
import { isVoiceName } from "../core/voice-names.ts";
import { isImageKind } from "./model-settings.ts";
import { nameProblems } from "./name-rules.ts";
import { formatOrigin, type Problem, problemOf } from "./problem.ts";
import { parseEndpoint } from "../core/endpoint.ts";
import { socketPathOf } from "../core/listen-addresses.ts";
import { isSecretSource, SECRET_FORMS, unexpandedName } from "../core/secret.ts";
import type { RawValue } from "./sources.ts";
import { rowAt } from "./table.ts";
import { upstreamProblems } from "./upstream-rules.ts";

/** Of each group at most one alternative may be given; an alternative may take several keys. */
const EXCLUSIVE: readonly (readonly (readonly string[])[])[] = [
  [["paged_attn.context_len"], ["paged_attn.memory_mb"], ["paged_attn.memory_fraction"]],
  [["models[].quantization.imatrix"], ["models[].quantization.calibration_file"]],
  [["models[].quantization.quant"], ["models[].format.quantized_file"]],
  [["models[].device.cpu_moe"], ["models[].device.n_cpu_moe"]],
  [["models[].device.main_gpu"], ["models[].device.tensor_split"]],
  [["models[].adapter.enable_lora", "models[].adapter.lora"], ["models[].adapter.legacy_lora"]],
];

/** Keys (a prefix, where they end in _) that mean nothing unless the switch is on. `runtime.agent` is all of them. */
const NEEDS: readonly (readonly [string, string])[] = [
  ["runtime.search_", "runtime.enable_search"],
  ["runtime.code_exec_", "runtime.enable_code_execution"],
  ["runtime.shell_", "runtime.enable_shell"],
  ["runtime.skills_dir", "runtime.enable_shell"],
];

/** Keys of [[models]] that mean nothing for an image model, and those that only it has. */
const TEXT_KEYS = [
  "adapter.enable_lora",
  "adapter.lora",
  "adapter.legacy_lora",
  "adapter.legacy_lora_order",
  "quantization.quant",
  "quantization.isq",
  "quantization.imatrix",
  "quantization.calibration_file",
  "chat_template",
  "content_tokens",
  "thinking_default",
  "device.max_seq_len",
  "device.rpc",
  "device.split_mode",
  "device.tensor_split",
  "device.cpu_moe",
  "device.n_cpu_moe",
] as const;
const IMAGE_KEYS = [
  "format.diffusion_model",
  "format.vae",
  "format.clip_l",
  "format.clip_g",
  "format.t5xxl",
  "format.llm",
  "image.steps",
  "image.guidance",
] as const;

/** Spec: token_source. */
const HUB_TOKENS = new Set(["cache", "none"]);

type Values = ReadonlyMap<string, RawValue>;

/** Problems between values that are each sound in themselves. */
export function checkTogether(list: readonly RawValue[]): readonly Problem[] {
  const values: Values = new Map(list.map((value) => [value.path, value]));
  const entries = list.filter((value) => /^models\[\d+\]$/.test(value.path)).map((value) => value.path);
  return [
    ...missingModelIds(values, entries),
    ...missingProjector(values, entries),
    ...missingAdapter(values, entries),
    ...exclusive(values, entries),
    ...needs(values),
    ...differentCpu(values, entries),
    ...samePort(values),
    ...socketAlone(values),
    ...searchProvider(values),
    ...steps(values),
    ...thinking(values),
    ...voices(values, entries),
    ...tokenSource(values),
    ...secretReferences(values),
    ...rpcWorkers(values, entries),
    ...speculation(values),
    ...cacheDisk(values),
    ...determinism(values),
    ...otherKind(values, entries),
    ...accessProblems(values),
    ...nameProblems(values, entries),
    ...upstreamProblems(values, entries),
  ];
}

function missingModelIds(values: Values, entries: readonly string[]): readonly Problem[] {
  return entries.flatMap((entry) => {
    const given = values.get(entry);
    if (given === undefined || values.has(`${entry}.model_id`)) return [];
    // An unsound model_id is not among the values, but it is in the table that the file holds.
    const isWritten = typeof given.value === "object" && given.value !== null && "model_id" in given.value;
    if (isWritten) return [];
    return [problemOf(given, `${entry}.model_id`, "missing", "Every [[models]] entry needs a model_id.")];
  });
}

/** A multimodal model has a projector file. */
function missingProjector(values: Values, entries: readonly string[]): readonly Problem[] {
  return entries.flatMap((entry) => {
    const kind = values.get(`${entry}.kind`);
    if (kind?.value !== "multimodal" || values.has(`${entry}.format.mmproj`)) return [];
    const fix = "Name the model's projector file, or leave kind out.";
    return [problemOf(kind, kind.path, '"multimodal" needs format.mmproj', fix)];
  });
}

function missingAdapter(values: Values, entries: readonly string[]): readonly Problem[] {
  return entries.flatMap((entry) => {
    const order = values.get(`${entry}.adapter.legacy_lora_order`);
    if (order === undefined || values.has(`${entry}.adapter.legacy_lora`)) return [];
    return [problemOf(order, order.path, "needs legacy_lora", "Name the folder that holds the adapters.")];
  });
}

function exclusive(values: Values, entries: readonly string[]): readonly Problem[] {
  return EXCLUSIVE.flatMap((group) => {
    const isOfModels = group.flat().every((path) => path.startsWith("models[]"));
    const scopes = isOfModels ? entries : ["models[]"];
    return scopes.flatMap((entry) => {
      const given = group.flatMap((paths) => {
        const found = paths.flatMap((path) => values.get(path.replace("models[]", entry)) ?? []);
        return found.slice(0, 1);
      });
      const [first, ...others] = given;
      if (first === undefined) return [];
      const what = `excludes ${first.path} (${formatOrigin(first.origin)})`;
      return others.map((other) => problemOf(other, other.path, what, "Keep one of them."));
    });
  });
}

function needs(values: Values): readonly Problem[] {
  if (values.get("runtime.agent")?.value === true) return [];
  return NEEDS.flatMap(([prefix, switchPath]) => {
    if (values.get(switchPath)?.value === true) return [];
    const given = [...values.values()].filter(({ path }) =>
      prefix.endsWith("_") ? path.startsWith(prefix) : path === prefix,
    );
    return given.map((value) =>
      problemOf(value, value.path, `needs ${switchPath} = true`, "Remove it or set both."),
    );
  });
}

function differentCpu(values: Values, entries: readonly string[]): readonly Problem[] {
  const isCpu = (entry: string): boolean => values.get(`${entry}.device.cpu`)?.value === true;
  const [first, ...others] = entries;
  if (first === undefined) return [];
  return others.flatMap((entry) => {
    const given = values.get(`${entry}.device.cpu`) ?? values.get(entry);
    if (given === undefined || isCpu(entry) === isCpu(first)) return [];
    const what = `is ${isCpu(entry)} here and ${isCpu(first)} in ${first}`;
    return [problemOf(given, `${entry}.device.cpu`, what, "Use the same value for all models.")];
  });
}

/** Two listeners cannot share a port; 0 is never the same. */
function samePort(values: Values): readonly Problem[] {
  const mcp = values.get("server.mcp_port");
  const port = values.get("server.port")?.value ?? rowAt("server.port")?.defaultValue;
  if (typeof mcp?.value !== "number" || mcp.value !== port || port === 0) return [];
  return [problemOf(mcp, mcp.path, `${port} is also server.port`, "Give each a port of its own.")];
}

/** A socket has no second port; other addresses than the configured one are never opened. */
function socketAlone(values: Values): readonly Problem[] {
  const host = values.get("server.host")?.value;
  if (typeof host !== "string" || socketPathOf(host) === undefined) return [];
  return ["server.mcp_port", "server.ollama_port"].flatMap((path) => {
    const given = values.get(path);
    if (given === undefined) return [];
    const fix = "Remove it, or set server.host to an address.";
    return [problemOf(given, path, "is a port of server.host, which is a UNIX socket", fix)];
  });
}

/** Blocks are read from disk into memory, and belong to kept prefixes. */
function cacheDisk(values: Values): readonly Problem[] {
  const folder = values.get("runtime.cache_disk");
  if (folder === undefined) return [];
  const off = ["runtime.cache_ram", "runtime.prefix_cache_n"].filter((path) => values.get(path)?.value === 0);
  if (values.get("runtime.no_kv_cache")?.value === true) off.push("runtime.no_kv_cache");
  return off.map((path) =>
    problemOf(folder, folder.path, `has no effect with the value of ${path}`, "Remove one of them."),
  );
}

/** What would make an answer depend on other requests. */
function determinism(values: Values): readonly Problem[] {
  const wanted = values.get("runtime.determinism");
  if (wanted?.value !== "batch-invariant") return [];
  const cache = values.get("paged_attn.cache_type")?.value ?? "auto";
  if (cache === "auto" || cache === "f16") return [];
  const problem = `"batch-invariant" excludes cache_type = ${JSON.stringify(cache)}`;
  return [problemOf(wanted, wanted.path, problem, 'Use "f16".')];
}

/** Required settings of a search provider. */
function searchProvider(values: Values): readonly Problem[] {
  const given = values.get("runtime.search_provider");
  const needed = given === undefined ? undefined : PROVIDER_NEEDS.get(given.value);
  if (given === undefined || needed === undefined || values.has(needed)) return [];
  return [problemOf(given, given.path, `"${String(given.value)}" needs ${needed}`, "Set both.")];
}

const PROVIDER_NEEDS: ReadonlyMap<unknown, string> = new Map([
  ["searxng", "runtime.search_url"],
  ["brave", "runtime.search_api_key"],
]);

function steps(values: Values): readonly Problem[] {
  const ubatch = values.get("runtime.ubatch");
  const batch = values.get("runtime.batch")?.value ?? rowAt("runtime.batch")?.defaultValue;
  // A default ubatch shrinks with the batch (engine-options.ts); only a given one can contradict it.
  if (typeof ubatch?.value !== "number" || typeof batch !== "number" || ubatch.value <= batch) return [];
  const what = `${ubatch.value} is more than runtime.batch, ${batch}`;
  return [problemOf(ubatch, ubatch.path, what, "A micro-batch cannot be larger than a step.")];
}

function thinking(values: Values): readonly Problem[] {
  const wanted = values.get("thinking")?.value;
  const effort = values.get("reasoning_effort");
  if (wanted === undefined || effort === undefined) return [];
  const isOff = effort.value === "off" || effort.value === "none";
  if (wanted !== isOff) return [];
  return [problemOf(effort, effort.path, `contradicts thinking = ${String(wanted)}`, "Keep one of them.")];
}

/** Rules of speculative decoding. */
function speculation(values: Values): readonly Problem[] {
  const model = values.get("runtime.mtp_model");
  const speculative = values.get("runtime.speculative");
  const problems: Problem[] = [];
  const kind = String(speculative?.value);
  if (model !== undefined && speculative !== undefined && ["off", "grammar", "ngram"].includes(kind)) {
    const what = `is not used with ${speculative.path} = "${kind}" (${formatOrigin(speculative.origin)})`;
    problems.push(problemOf(model, model.path, what, 'Remove it, or use speculative = "mtp".'));
  }
  return problems;
}

/** Settings of one kind of model. */
function otherKind(values: Values, entries: readonly string[]): readonly Problem[] {
  return entries.flatMap((entry) => {
    const isImage = isImageKind(values.get(`${entry}.kind`)?.value);
    const strange = isImage ? TEXT_KEYS : IMAGE_KEYS;
    const what = isImage ? "applies to text models; this is an image model" : 'needs kind = "image"';
    return strange.flatMap((key) => {
      const given = values.get(`${entry}.${key}`);
      const isGiven = given !== undefined && given.value !== false;
      return isGiven ? [problemOf(given, given.path, what, "Remove it, or set the kind.")] : [];
    });
  });
}

/** A voice speaks, and nothing else does. */
function voices(values: Values, entries: readonly string[]): readonly Problem[] {
  return entries.flatMap((entry) => {
    const id = values.get(`${entry}.model_id`);
    const kind = values.get(`${entry}.kind`);
    const library = values.get(`${entry}.format.speech_library`);
    if (typeof id?.value !== "string") return [];
    if (isVoiceName(id.value)) {
      if (library !== undefined) {
        return [problemOf(library, library.path, `"${id.value}" needs no library`, "Leave it out.")];
      }
      if (kind === undefined || kind.value === "auto" || kind.value === "speech") return [];
      return [problemOf(kind, kind.path, `"${id.value}" is a voice`, 'Use kind = "speech".')];
    }
    if (kind?.value !== "speech") {
      if (library === undefined) return [];
      return [problemOf(library, library.path, "only a speech model takes it", 'Add kind = "speech".')];
    }
    return [];
  });
}

/** The value may be a secret, so it is not repeated. */
function tokenSource(values: Values): readonly Problem[] {
  const given = values.get("global.token_source");
  if (typeof given?.value !== "string" || HUB_TOKENS.has(given.value) || isSecretSource(given.value))
    return [];
  const fix = `Use cache, none, ${SECRET_FORMS}.`;
  return [problemOf(given, given.path, "not a source of a token", fix)];
}

/** Secrets that are written as names of variables, which nothing expands: clients could read them in any document. */
function secretReferences(values: Values): readonly Problem[] {
  return [...values.values()].flatMap((given) => {
    if (rowAt(given.path)?.secretAfter === undefined) return [];
    const texts: readonly unknown[] = Array.isArray(given.value) ? given.value : [given.value];
    const name = texts
      .map((text) => (typeof text === "string" ? unexpandedName(text) : undefined))
      .find(Boolean);
    if (name === undefined) return [];
    return [problemOf(given, given.path, "variables in secrets are not expanded", `Write env:${name}.`)];
  });
}

/** Addresses of RPC workers, and where their token comes from, whose value may be a secret. */
function rpcWorkers(values: Values, entries: readonly string[]): readonly Problem[] {
  return entries.flatMap((entry) => {
    const workers = values.get(`${entry}.device.rpc`);
    const list: readonly unknown[] = Array.isArray(workers?.value) ? workers.value : [];
    const wrong = list.filter((text) => typeof text !== "string" || parseEndpoint(text) === undefined);
    const token = values.get(`${entry}.device.rpc_token_source`);
    const isToken = typeof token?.value !== "string" || isSecretSource(token.value);
    return [
      ...(workers === undefined
        ? []
        : wrong.map((text) =>
            problemOf(
              workers,
              workers.path,
              `"${String(text)}" is not host:port`,
              "Write it as gpu2:50052 or [fd00::2]:50052.",
            ),
          )),
      ...(token === undefined || isToken
        ? []
        : [problemOf(token, token.path, "not a source of a token", `Use ${SECRET_FORMS}.`)]),
    ];
  });
}
