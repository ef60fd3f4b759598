// The hub token: where it is read from, and where `svc login` stores it. It is never logged and never part of an error.

import { writePrivateFile } from "../core/whole-file.ts";
import { readSecret } from "../core/secret.ts";
import { HubError } from "./error.ts";
import type { Environment, HubPlace } from "./place.ts";

/**
 * The token of a token_source: `cache`, `none`, `env:NAME`, `path:FILE` or `literal:TOKEN`. undefined without a token; throws
 * HubError when a named source has none.
 */
export function readToken(source: string, place: HubPlace, environment: Environment): string | undefined {
  if (source === "cache")
    return readSecret("env:HF_TOKEN", environment) ?? readSecret(`path:${place.tokenFile}`, environment);
  if (source === "none") return undefined;
  return readSecret(source, environment) ?? missing(source);
}

/** Stores the user's token where the hub's tools read it, readable by the user only. */
export function storeToken({ tokenFile }: HubPlace, token: string): void {
  writePrivateFile(tokenFile, token);
}

function missing(source: string): never {
  const place = source.startsWith("env:") ? "the environment variable" : "the file";
  const name = source.slice(source.indexOf(":") + 1);
  throw new HubError(`--token-source names ${place} ${name}, which has no token.`);
}
