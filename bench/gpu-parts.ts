// Steps of measurements on a graphics card: installs a back end for them, drives a server, asks where a model is placed.

import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { BACKENDS, type BackendKind, RELEASE } from "../src/backends/catalog.ts";
import { type LoadOptions, loadArgs, type LoadResult } from "./load.ts";
import { CACHE, SVC } from "./peer.ts";
import type { RunningServer } from "./servers.ts";

const cacheHome = join(CACHE, "xdg");

/** Runs svc with the cache folder of the measurements; returns its output. */
async function svc(words: readonly string[]): Promise<{ readonly code: number; readonly text: string }> {
  const child = Bun.spawn([SVC, ...words], {
    env: { ...process.env, XDG_CACHE_HOME: cacheHome },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, text: `${out}${err}`.trim() };
}

/** Where the user's own svc has installed a back end. */
export function installedFile({ name, file }: BackendKind): string | undefined {
  const cache = process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
  const path = join(cache, "svc", "backends", `${name}-${RELEASE}`, file);
  return existsSync(path) ? path : undefined;
}

/** Installs one back end as the only one. Returns its devices; undefined where it does not work here. */
export async function useBackend(kind: BackendKind, file: string): Promise<string | undefined> {
  for (const { name } of BACKENDS) if (name !== kind.name) await svc(["backend", "remove", name]);
  const { code, text } = await svc(["backend", "install", kind.name, "--from", file]);
  if (code !== 0) {
    console.error(`bench: ${kind.name} is left out: ${text}`);
    return undefined;
  }
  const devices = [...text.matchAll(/^ {2}(.*)$/gm)].map(([, line = ""]) => line);
  return devices.join("; ");
}

/** Runs the load client against a server. */
export async function drive(options: LoadOptions): Promise<LoadResult> {
  const command = [process.execPath, join(import.meta.dir, "load.ts"), ...loadArgs(options)];
  const child = Bun.spawn(command, { stdin: "ignore", stdout: "pipe", stderr: 2 });
  const text = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error("the load client failed");
  return JSON.parse(text) as LoadResult; // output of load.ts
}

/** Where svc has placed the model; llama-server does not say. */
export async function placementOf({ side, port }: RunningServer): Promise<string> {
  if (side !== "svc") return "";
  const list = (await (await fetch(`http://127.0.0.1:${port}/v1/models`)).json()) as {
    readonly data: readonly { readonly placement?: string }[];
  };
  return list.data[0]?.placement ?? "on the CPU";
}
