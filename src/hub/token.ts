// The hub token: where it is read from, and where `svc login` stores it. It is never logged and never part of an error.

import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { HubError } from "./error.ts";
import type { Environment, HubPlace } from "./place.ts";

/**
 * The token of a token_source: `cache`, `none`, `env:NAME`, `path:FILE` or `literal:TOKEN`. undefined without a token; throws
 * HubError when a named source has none.
 */
export function readToken(source: string, place: HubPlace, environment: Environment): string | undefined {
  const [kind, rest] = split(source);
  switch (kind) {
    case "literal":
      return rest;
    case "env":
      return (
        clean(environment[rest]) ??
        missing(`token_source names the environment variable ${rest}, which is not set.`)
      );
    case "path":
      return (
        clean(readText(rest)) ?? missing(`token_source names the file ${rest}, which contains no token.`)
      );
    case "cache":
      return clean(environment["HF_TOKEN"]) ?? clean(readText(place.tokenFile));
    default:
      return undefined;
  }
}

/** Stores the user's token where the hub's tools read it, readable by the user only. */
export function storeToken({ tokenFile }: HubPlace, token: string): void {
  mkdirSync(dirname(tokenFile), { recursive: true, mode: 0o700 });
  const aside = `${tokenFile}.${process.pid}`;
  try {
    writeFileSync(aside, token, { mode: 0o600, flag: "wx" });
    chmodSync(aside, 0o600); // regardless of the umask
    renameSync(aside, tokenFile);
  } catch (error) {
    rmSync(aside, { force: true });
    throw error;
  }
}

function split(source: string): readonly [string, string] {
  const colon = source.indexOf(":");
  return colon < 0 ? [source, ""] : [source.slice(0, colon), source.slice(colon + 1)];
}

function clean(text: string | undefined): string | undefined {
  const token = text?.trim();
  return token === "" ? undefined : token;
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined; // no such file: the user has not logged in
  }
}

function missing(message: string): never {
  throw new HubError(message);
}
