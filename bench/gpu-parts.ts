// Steps of measurements on a graphics card: installs a back end for them, drives a server, asks where a model is placed.

import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { BACKENDS, type BackendKind, RELEASE } from "../src/backends/catalog.ts";
import { type LoadOptions, loadArgs, type LoadResult } from "./load.ts";
import { CACHE, SVC } from "./peer.ts";
import type { RunningServer } from "./servers.ts";

/** A back end that answers its trial later than this does not work. */
const INSTALL_MS_MAX = 90_000;

const cacheHome = join(CACHE, "xdg");

/** Kinds of layers and caches that back ends compute by kernels of their own; the most common first. */
const ARCHITECTURES: readonly string[] = [
  "llama",
  "qwen3",
  "gemma3",
  "gpt-oss",
  "qwen3moe",
  "qwen35moe",
  "deepseek2",
  "gemma2",
  "mamba2",
  "bert",
];

/**
 * Toys of several architectures on the devices (`isOnDevice`) beside the CPU, in at most `seconds`; fewer in a dry run. Returns what came
 * of it, in sentences, and whether all were compared.
 */
export async function compareArchitectures(
  seconds: number,
  { isOnDevice, isDry }: { readonly isOnDevice: boolean; readonly isDry: boolean },
): Promise<{ readonly sentences: readonly string[]; readonly isComplete: boolean }> {
  const names = isDry ? ARCHITECTURES.slice(0, 2) : ARCHITECTURES;
  const devices = isOnDevice ? ["--devices", join(cacheHome, "svc")] : [];
  const script = join(import.meta.dir, "../test/zoo/main.ts");
  const words = ["--own", "--only", names.join(","), "--seconds", String(Math.floor(seconds)), ...devices];
  const child = Bun.spawn([process.execPath, script, ...words], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: 2,
  });
  const text = await new Response(child.stdout).text();
  const code = await child.exited;
  const [line, good = "0", tried = "0"] = /^(\d+) of (\d+) architectures pass/m.exec(text) ?? [];
  if (line === undefined) throw new Error(`the comparison of architectures ended with code ${code}`);
  const isOutOfTime = (why = ""): boolean => why.startsWith("SIGTERM");
  const all = [...text.matchAll(/^FAILED (\S+) (?!\|)(.*)$/gm)];
  const failed = all.filter(([, , why]) => !isOutOfTime(why)).map(([, name, why]) => `${name} ${why}`.trim());
  const compared = Number(tried) - (all.length - failed.length);
  const sentences = [
    `Of ${names.length} architectures ${compared} were compared with the CPU, ${good} agree.`,
    ...(failed.length === 0 ? [] : [`Not: ${failed.join("; ")}.`]),
  ];
  return { sentences, isComplete: compared === names.length };
}

/** Runs svc with the cache folder of the measurements; returns its output. */
async function svc(words: readonly string[]): Promise<{ readonly code: number; readonly text: string }> {
  const child = Bun.spawn([SVC, ...words], {
    env: { ...process.env, XDG_CACHE_HOME: cacheHome },
    stdio: ["ignore", "pipe", "pipe"],
    ...limit(INSTALL_MS_MAX),
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

/** Runs the load client against a server, for at most that long. */
export async function drive(options: LoadOptions, limitMs?: number): Promise<LoadResult> {
  const command = [process.execPath, join(import.meta.dir, "load.ts"), ...loadArgs(options)];
  const child = Bun.spawn(command, { stdin: "ignore", stdout: "pipe", stderr: 2, ...limit(limitMs) });
  const text = await new Response(child.stdout).text();
  if ((await child.exited) !== 0)
    throw new Error(child.signalCode === null ? "the load client failed" : "it took too long, and was ended");
  return JSON.parse(text) as LoadResult; // output of load.ts
}

/** Ends a process after that time. */
function limit(ms: number | undefined): { readonly timeout?: number; readonly killSignal?: "SIGKILL" } {
  return ms === undefined ? {} : { timeout: Math.max(1, Math.floor(ms)), killSignal: "SIGKILL" };
}

/** Where svc has placed the model; llama-server does not say. */
export async function placementOf({ side, port }: RunningServer): Promise<string> {
  if (side !== "svc") return "";
  const list = (await (await fetch(`http://127.0.0.1:${port}/v1/models`)).json()) as {
    readonly data: readonly { readonly placement?: string }[];
  };
  return list.data[0]?.placement ?? "on the CPU";
}
