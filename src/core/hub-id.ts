// How a model of the hub is named in a setting: by a name of the catalogue, or `owner/name`, then `@revision`, then `:file.gguf` or `:Q4_K_M`, each of
// the last two optional. Pure; whether there is such a repository is for src/hub to find out.

import { catalogued } from "./catalogue.ts";

/** A model of the hub. At most one of `file` and `quant` is set. */
export interface HubId {
  /** `owner/name`. */
  readonly repo: string;
  /** Branch, tag or commit; absent: the main branch. */
  readonly revision?: string;
  /** The name of the catalogue that means this revision; what was downloaded for an earlier one serves as well. */
  readonly named?: string;
  readonly file?: string;
  readonly quant?: string;
}

const PART = String.raw`[A-Za-z0-9][\w.-]{0,95}`;
const HUB_ID = new RegExp(String.raw`^(${PART}/${PART})(?:@([^:@\s]{1,255}))?(?::([^:\s]{1,255}))?$`);

/** The hub's host before a name, as Ollama's clients write it. */
const HOST = /^(?:www\.)?(?:hf\.co|huggingface\.co)\//;

/** Reads such a name; undefined for anything else, `models/file.gguf` and every absolute path included. */
export function parseHubId(text: string): HubId | undefined {
  const known = catalogued(text);
  if (known !== undefined)
    return known.revision === undefined
      ? { repo: known.repo }
      : { repo: known.repo, revision: known.revision, named: known.name };
  const [, repo, revision, wanted] = HUB_ID.exec(text.replace(HOST, "")) ?? [];
  if (repo === undefined || /\.gguf$/i.test(repo) || revision?.includes("..") === true) return undefined;
  const id = revision === undefined ? { repo } : { repo, revision };
  if (wanted === undefined) return id;
  return /\.gguf$/i.test(wanted) ? { ...id, file: wanted } : { ...id, quant: wanted };
}

function unescaped(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

/** What an address of the hub names: a repository, a revision or a file of it; undefined for an address elsewhere. */
export function hubAddress(text: string, endpoint: string): HubId | undefined {
  const url = URL.parse(text);
  const isHub =
    url !== null &&
    (/^(?:www\.)?(?:hf\.co|huggingface\.co)$/.test(url.host) || url.origin === new URL(endpoint).origin);
  if (!isHub) return undefined;
  const [owner = "", name = "", kind, revision = "main", ...path] = url.pathname
    .split("/")
    .filter((step) => step !== "")
    .map(unescaped);
  const id = parseHubId(`${owner}/${name}${kind === undefined || revision === "main" ? "" : `@${revision}`}`);
  const file = path.join("/");
  return id === undefined || file === "" ? id : { ...id, file };
}

/** The name without file and quantization. */
export function formatRepo({ repo, revision }: HubId): string {
  return revision === undefined ? repo : `${repo}@${revision}`;
}
