// Fetches a LoRA adapter of the hub: a PEFT folder, or a GGUF file.

import { formatRepo, type HubId } from "../core/hub-id.ts";
import { fileRoles } from "../core/model-files.ts";
import { cachedCommit, snapshotFiles, snapshotPath } from "./cache.ts";
import { HubError } from "./error.ts";
import { accessOf, fetchFolder, type FetchOptions } from "./fetch-model.ts";
import { listRepository } from "./repository.ts";

const CONFIG = "adapter_config.json";

/** Folder of the adapter, or path of its GGUF file. `files`: those of a PEFT folder. Throws HubError. */
export async function fetchAdapter(
  id: HubId,
  files: readonly string[],
  options: FetchOptions,
): Promise<string> {
  const { place } = options;
  const commit = cachedCommit(place.cacheDir, id);
  const cached = commit === undefined ? [] : snapshotFiles(place.cacheDir, id.repo, commit);
  const held = chosenFile(id, cached);
  if (commit !== undefined && held !== undefined && cached.includes(held))
    return snapshotPath(place.cacheDir, id.repo, commit, held);
  if (place.offline || files.every((name) => cached.includes(name))) return fetchFolder(id, files, options);
  const { files: listed } = await listRepository(id, accessOf(options, options.token()));
  const paths = listed.map(({ path }) => path);
  const file = chosenFile(id, paths);
  if (file === undefined && !paths.includes(CONFIG)) throw noAdapter(id, paths);
  const folder = await fetchFolder(id, file === undefined ? files : [file], options);
  return file === undefined ? folder : `${folder}/${file}`;
}

/** The GGUF file that is named, or the only one of a repository without a PEFT adapter. */
function chosenFile({ file }: HubId, paths: readonly string[]): string | undefined {
  if (file !== undefined) return paths.find((path) => path === file || path.endsWith(`/${file}`));
  const found = paths.includes(CONFIG) ? [] : adapterFiles(paths);
  return found.length === 1 ? found[0] : undefined;
}

/** GGUF files that are adapters; all of them where none is called one. */
function adapterFiles(paths: readonly string[]): readonly string[] {
  const files = paths.filter((path) => /\.gguf$/i.test(path));
  const roles = fileRoles(paths);
  const named = files.filter((path) => roles.get(path) === "adapter" || /lora/i.test(path));
  return named.length > 0 ? named : files;
}

function noAdapter(id: HubId, paths: readonly string[]): HubError {
  const found = adapterFiles(paths);
  const what =
    id.file !== undefined
      ? `has no file ${id.file}`
      : found.length > 1
        ? `has several GGUF files. Name one: ${id.repo}:${found.slice(0, 5).join(`, ${id.repo}:`)}`
        : "has no LoRA adapter (adapter_config.json with safetensors, or a GGUF file)";
  return new HubError(`${formatRepo(id)} ${what}.`, "hub_model_not_found");
}
