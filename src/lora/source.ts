// Prepares an adapter from a requested path: checks permission, size and content, and converts it in a child process.

import { createHash, hash } from "node:crypto";
import { createReadStream, existsSync, mkdirSync, realpathSync, statSync } from "node:fs";
import { basename, isAbsolute, join, relative, sep } from "node:path";
import { ServiceError } from "../core/error.ts";
import { AdapterError } from "./adapter-error.ts";
import { CONFIG_FILE, type Conversion, describeAdapter, WEIGHTS_FILE } from "./convert.ts";
import type { PreparedAdapter } from "./registry.ts";

export interface SourceOptions {
  /** Folder that must contain the adapters; absent: any folder. */
  readonly root?: string;
  /** The operator has named the path: links are allowed, as in the hub's cache. */
  readonly isTrusted?: boolean;
  /** Maximum total size of the input files, bytes. */
  readonly bytesMax: number;
  /** Parent of the folder for converted adapters. */
  readonly cacheDir: string;
  /** GGUF file of the base model. */
  readonly baseModel: () => Promise<string>;
  /** Converts a folder for the base model and writes `output`. Throws AdapterError. */
  readonly convert: (conversion: Conversion) => Promise<void>;
}

/** Files of an adapter's folder. */
export const ADAPTER_FILES = [CONFIG_FILE, WEIGHTS_FILE];
/** Part of a digest that names a generation: 24 hexadecimal digits do not collide. */
const GENERATION_CHARS = 24;

/** Prepares the adapter at a path, or the sum of those at several. Throws ServiceError, or AdapterError for invalid files. */
export async function prepareAdapter(
  path: string | readonly string[],
  options: SourceOptions,
): Promise<PreparedAdapter> {
  const folders = [path].flat().map((one) => allowedPath(one, options.root));
  const digest = createHash("sha256");
  for (const folder of folders) {
    checkSize(folder, options.bytesMax);
    for (const file of filesOf(folder)) await hashFile(file, digest);
  }
  const generation = `lora_${digest.digest("hex").slice(0, GENERATION_CHARS)}`;
  const baseModel = await options.baseModel();
  const output = join(outputFolder(options.cacheDir), `${generation}-${keyOf(baseModel)}.gguf`);
  const { isTrusted = false } = options;
  if (!existsSync(output)) await options.convert({ folders, baseModel, output, mayLink: isTrusted });
  return { generation, file: output, ...describeAdapter(output) };
}

/** Files of an adapter: those of a PEFT folder, or the GGUF file itself. */
function filesOf(path: string): readonly string[] {
  return statSync(path).isFile() ? [path] : ADAPTER_FILES.map((name) => join(path, name));
}

/** The real folder or file of a path. Links are resolved before the check, so that none leads out of the root. */
function allowedPath(path: string, root: string | undefined): string {
  if (!isAbsolute(path) && root === undefined) throw notAllowed("lora_path must be an absolute path");
  const wanted = isAbsolute(path) || root === undefined ? path : join(root, path);
  if (!existsSync(wanted)) {
    // The error must not reveal whether a path outside the root exists.
    if (root !== undefined && leaves(root, wanted))
      throw notAllowed("lora_path lies outside the adapter root");
    const message = `lora_path ${JSON.stringify(path.slice(0, 200))} does not exist on this server`;
    throw new ServiceError("adapter_not_found", message, { param: "lora_path" });
  }
  const folder = realpathSync(wanted);
  if (root !== undefined && leaves(realpathSync(root), folder))
    throw notAllowed("lora_path lies outside the adapter root");
  const stat = statSync(folder);
  if (!stat.isDirectory() && !(stat.isFile() && /\.gguf$/i.test(wanted)))
    throw notAllowed("lora_path must be a folder or a GGUF file");
  if (root !== undefined && (stat.mode & 0o002) !== 0) throw notAllowed("the adapter is world-writable");
  return folder;
}

function leaves(root: string, path: string): boolean {
  const way = relative(root, path);
  return way === ".." || way.startsWith(`..${sep}`) || isAbsolute(way);
}

function notAllowed(message: string): ServiceError {
  return new ServiceError("adapter_path_not_allowed", message, { param: "lora_path" });
}

function checkSize(folder: string, bytesMax: number): void {
  let bytes = 0;
  for (const file of filesOf(folder)) {
    const stat = statSync(file, { throwIfNoEntry: false });
    if (stat === undefined) throw new AdapterError(`the adapter has no ${basename(file)}`);
    bytes += stat.size;
  }
  if (bytes <= bytesMax) return;
  const message = `the adapter's files have ${bytes} bytes; --lora-max-bytes is ${bytesMax}`;
  throw new ServiceError("adapter_too_large", message, { param: "lora_path" });
}

async function hashFile(path: string, digest: ReturnType<typeof createHash>): Promise<void> {
  try {
    for await (const chunk of createReadStream(path)) digest.update(chunk);
    digest.update("\0");
  } catch (error) {
    throw new ServiceError("adapter_storage_unavailable", "the adapter's files could not be read", {
      cause: error,
    });
  }
}

function outputFolder(cacheDir: string): string {
  const folder = join(cacheDir, "adapters");
  try {
    mkdirSync(folder, { recursive: true });
  } catch (error) {
    const message = "the folder for converted adapters could not be created; the server's log says why";
    throw new ServiceError("adapter_storage_unavailable", message, { cause: error });
  }
  return folder;
}

/** Counts up where conversions check or write something else: copies of an older svc are then not used. */
const CONVERSION = 2;

/** Key of a base model: another file, or other content, needs another conversion. */
function keyOf(baseModel: string): string {
  const { size, mtimeMs } = statSync(baseModel);
  return hash("sha256", `${CONVERSION}\0${baseModel}\0${size}\0${mtimeMs}`).slice(0, 12);
}
