// Checks for present and future problems: one check per question, each with its result and fix. Read-only, except for an
// empty file in the cache folder, which it removes.
// An engine reports the hardware: the serving process opens no native library. Confinement is tried, since an installed one is often
// forbidden.

import { createServer } from "node:net";
import { mkdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CardDriver } from "../core/card-drivers.ts";
import { DEVICE_PROFILES, profilePhrase } from "../core/device-profile.ts";
import { inUrl, isAbsent, listenAddresses, socketPathOf } from "../core/listen-addresses.ts";
import { codeOf, reasonOf } from "../core/reason.ts";
import type { DoctorCheck, DoctorReport, EngineHost } from "../core/system.ts";
import { checkGguf } from "../core/gguf-check.ts";
import { readMemory, type Memory } from "./memory.ts";
import { isNoexec } from "./mounts.ts";
import { probeSandbox } from "./sandbox.ts";
import { sizeText } from "../core/size-text.ts";

export interface DoctorDeps {
  /** Facts from an engine, or the reason why none could be started. */
  readonly host: () => Promise<EngineHost | { readonly failure: string }>;
  readonly models: readonly ModelFacts[];
  /** Loaded drivers of graphics cards. */
  readonly drivers: readonly CardDriver[];
  /** Checks of the RPC workers that the models use. */
  readonly rpcChecks: () => Promise<readonly DoctorCheck[]>;
  readonly cacheDir: string;
  readonly hostname: string;
  readonly port: number;
  /** The server that asks already has the port. */
  readonly isListening: boolean;
  readonly now: () => Date;
}

export interface ModelFacts {
  readonly id: string;
  readonly source:
    | { readonly type: "built-in" }
    | { readonly type: "hub" }
    /** Files of several formats, which their library judges when it loads them. */
    | { readonly type: "image" }
    /** A voice with a library of the operator's; config/ has looked at its files. */
    | { readonly type: "voice" }
    /** Servers that run it; each is asked for its model list. */
    | { readonly type: "upstream"; readonly ask: () => Promise<readonly UpstreamFinding[]> }
    /** Absolute path of a GGUF file; of a split one its first part. `isBase`: it has no chat template. `memoryBytes`: the most that it takes. */
    | {
        readonly type: "file";
        readonly path: string;
        readonly isBase?: boolean;
        readonly memoryBytes?: number;
      };
  readonly isLoaded: boolean;
  /** Why the server that asks could not load it. */
  readonly failure?: string;
  /** Parts of a conversation that its chat template leaves out; absent: none is known. */
  readonly leavesOut?: readonly string[];
}

/** Answer of an upstream server. */
export interface UpstreamFinding {
  /** Host and port. */
  readonly name: string;
  /** Server software, context and the time of the answer. */
  readonly detail: string;
  /** Why it gets no requests. */
  readonly problem?: string;
}

const GIB = 2 ** 30;
/** Unpacked libraries take about 60 MB. */
const DISK_BYTES_MIN = 0.2 * GIB;
const DISK_BYTES_FEW = 2 * GIB;
const MEMORY_BYTES_FEW = 0.5 * GIB;
/** Linux default since 5.4; before, it was 128. */
const BACKLOG_MIN = 4096;
/** The year this was written: a clock before it is wrong. */
const YEAR_MIN = 2025;

/** Makes all checks. Never throws for what it finds. */
export async function examine(deps: DoctorDeps): Promise<DoctorReport> {
  const found = await deps.host();
  const host = "failure" in found ? undefined : found;
  const memory = readMemory();
  const checks = [
    engineCheck(found),
    ...(host === undefined ? [] : [cpuCheck(host), kernelsCheck(host), acceleratorCheck(host, deps.drivers)]),
    memoryCheck(memory),
    ...cacheChecks(deps.cacheDir),
    ...(await Promise.all(deps.models.map((model) => modelChecks(model, memory)))).flat(),
    ...(await deps.rpcChecks()),
    await portCheck(deps),
    ...backlogCheck(),
    clockCheck(deps.now()),
    sandboxCheck(await probeSandbox(host)),
  ];
  return { ok: checks.every(({ status }) => status !== "fail"), checks };
}

function pass(name: string, detail: string): DoctorCheck {
  return { name, status: "pass", detail, fix: null };
}

function warn(name: string, detail: string, fix: string): DoctorCheck {
  return { name, status: "warn", detail, fix };
}

function fail(name: string, detail: string, fix: string): DoctorCheck {
  return { name, status: "fail", detail, fix };
}

function engineCheck(found: EngineHost | { readonly failure: string }): DoctorCheck {
  if (!("failure" in found)) return pass("engine", `llama.cpp ${found.llama_version} starts`);
  return fail(
    "engine",
    `no engine could be started: ${found.failure}`,
    found.failure.includes("noexec")
      ? "Set XDG_CACHE_HOME to a folder on a file system that is not mounted noexec."
      : "Install svc again, or build its libraries.",
  );
}

export function cpuCheck({ cpu_variant, cpu_features }: EngineHost): DoctorCheck {
  const list = cpu_features.join(" ") || "no features reported";
  const detail = cpu_variant === null ? list : `variant ${cpu_variant}: ${list}`;
  const isSlow = process.arch === "x64" && cpu_features.length > 0 && !cpu_features.includes("AVX2");
  if (!isSlow) return pass("cpu", detail);
  return warn(
    "cpu",
    detail,
    "This processor has no AVX2, or a virtual machine hides it: pass the host's CPU through.",
  );
}

/** Kernels that svc adds to llama.cpp's (ffi/kernels), unless SVC_KERNELS selects others. */
function kernelsCheck({ kernels }: EngineHost): DoctorCheck {
  return pass("kernels", kernels.length === 0 ? "none: llama.cpp's own code" : kernels.join(", "));
}

/** `drivers`: those that are loaded. */
export function acceleratorCheck(
  { devices, backend_failures }: EngineHost,
  drivers: readonly Pick<CardDriver, "maker" | "backend">[],
): DoctorCheck {
  const name = "accelerator";
  const gpus = devices.filter(({ type }) => type === "gpu");
  const [failure] = backend_failures;
  if (failure !== undefined)
    return warn(
      name,
      `${failure}: models run on the other devices`,
      "Install what it names, or remove the back end: svc backend remove.",
    );
  if (gpus.length === 0 && drivers.length > 0) {
    const makers = drivers.map(({ maker }) => maker).join(" and ");
    const names = [...new Set(drivers.map(({ backend }) => backend))];
    const detail = `a driver of ${makers} is loaded, but no back end for it is installed: models run on the CPU`;
    return warn(
      name,
      detail,
      `Install it: ${names.map((one) => `svc backend install ${one}`).join(", or ")}`,
    );
  }
  if (gpus.length === 0) return pass(name, "none found: models run on the CPU");
  return pass(
    name,
    [...gpus.map(deviceText), `models on it: ${profilePhrase(DEVICE_PROFILES.device)}`].join("; "),
  );
}

/** A device by the number that main_gpu takes. */
function deviceText(
  { name, description, memory_total, memory_free }: EngineHost["devices"][0],
  number: number,
): string {
  return `${number}: ${description} (${name}), ${sizeText(memory_total)}, ${sizeText(memory_free)} free`;
}

function memoryCheck({ totalBytes, availableBytes, limitBytes }: Memory): DoctorCheck {
  const limit = limitBytes === undefined ? "" : `, limited to ${sizeText(limitBytes)}`;
  const detail = `${sizeText(availableBytes)} available of ${sizeText(totalBytes)}${limit}`;
  if (availableBytes >= MEMORY_BYTES_FEW) return pass("memory", detail);
  return warn("memory", detail, "Stop other programs, or serve a smaller model.");
}

/** Space and permission of the folder that libraries are unpacked to. */
export function cacheChecks(cacheDir: string): readonly DoctorCheck[] {
  try {
    mkdirSync(cacheDir, { recursive: true, mode: 0o700 });
    const probe = join(cacheDir, `doctor-${process.pid}`);
    writeFileSync(probe, "", { flag: "wx" });
    rmSync(probe);
  } catch (error) {
    const reason = codeOf(error) || "unknown";
    return [
      fail("cache", `its folder is not writable (${reason})`, "Set XDG_CACHE_HOME to a writable folder."),
    ];
  }
  const mount = isNoexec(cacheDir)
    ? fail(
        "cache",
        "its file system is mounted noexec, so that no library can be loaded from it",
        "Set XDG_CACHE_HOME to a folder on another file system, or mount this one with exec (Docker: tmpfs /tmp:exec).",
      )
    : pass("cache", "its folder is writable");
  return [mount, diskCheck(cacheDir)];
}

function diskCheck(cacheDir: string): DoctorCheck {
  const { bavail, bsize } = statfsSync(cacheDir);
  const bytes = bavail * bsize;
  const detail = `${sizeText(bytes)} free on the disk of the cache`;
  const fix = "Free some space, or set XDG_CACHE_HOME to another disk.";
  if (bytes < DISK_BYTES_MIN) return fail("disk", detail, fix);
  return bytes < DISK_BYTES_FEW ? warn("disk", detail, fix) : pass("disk", detail);
}

async function modelChecks(model: ModelFacts, memory: Memory): Promise<readonly DoctorCheck[]> {
  if (model.source.type !== "upstream") return [modelCheck(model, memory)];
  return upstreamChecks(model.id, await model.source.ask());
}

/** One check an upstream. A model fails only where none of its upstreams can be used. */
function upstreamChecks(id: string, found: readonly UpstreamFinding[]): readonly DoctorCheck[] {
  const isUsable = found.some(({ problem }) => problem === undefined);
  const fix = "Check its url, model and key in [[models.upstreams]], and whether the server runs.";
  return found.map(({ name, detail, problem }) => {
    const title = `model ${id} on ${name}`;
    if (problem === undefined) return pass(title, detail);
    return (isUsable ? warn : fail)(title, problem, fix);
  });
}

export function modelCheck(model: ModelFacts, memory: Memory): DoctorCheck {
  const { id, source, isLoaded, failure, leavesOut } = model;
  const name = `model ${id}`;
  if (failure !== undefined) return fail(name, failure, "See the server's log, then reload the model.");
  if (leavesOut !== undefined)
    return warn(
      name,
      `its chat template leaves out: ${leavesOut.join("; ")}`,
      "Set --chat-template to a file that shows the whole conversation.",
    );
  if (source.type === "upstream") return pass(name, "runs on upstream servers");
  if (source.type === "built-in") return pass(name, "built in");
  if (source.type === "voice") return pass(name, "its files exist; its library checks them at load");
  if (source.type === "hub") return pass(name, "from the hub: checked when it is downloaded");
  if (source.type === "image") return pass(name, `an image model${isLoaded ? "; loaded" : ""}`);
  try {
    const parts = partsOf(source.path).map(checkGguf);
    const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
    const tensors = parts.reduce((sum, part) => sum + part.header.tensors.size, 0);
    const base = source.isBase === true ? ", no chat template: it continues text" : "";
    const most =
      source.memoryBytes === undefined ? "" : `, at most ${sizeText(source.memoryBytes)} in memory`;
    const detail = `${sizeText(bytes)}, ${tensors} tensors${most}${base}${isLoaded ? ", loaded" : ""}`;
    const room = Math.min(memory.limitBytes ?? Infinity, memory.availableBytes);
    if (isLoaded || bytes < room) return pass(name, detail);
    return warn(
      name,
      `${detail}; ${sizeText(room)} of memory are available`,
      "Choose a smaller quantization.",
    );
  } catch (error) {
    const reason = reasonOf(error);
    return fail(name, `its file is not usable: ${reason}`, "Copy or download the file again.");
  }
}

export async function portCheck({
  hostname,
  port,
  isListening,
}: Pick<DoctorDeps, "hostname" | "port" | "isListening">): Promise<DoctorCheck> {
  if (socketPathOf(hostname) !== undefined)
    return pass("port", isListening ? `listening on ${hostname}` : `none: svc will listen on ${hostname}`);
  const all = listenAddresses(hostname);
  const place = `${inUrl(hostname)}:${port}`;
  if (isListening) return pass("port", `listening on ${place}`);
  const reasons = await Promise.all(all.map((one) => tryListen(one, port)));
  const reason = reasons.find((one, index) => one !== undefined && (index === 0 || !isAbsent(one)));
  if (reason === undefined) return pass("port", `${place} is free`);
  if (reason !== "EADDRINUSE")
    return fail("port", `${place} cannot be used (${reason})`, "Choose another with --host and --port.");
  return warn("port", `${place} is in use`, "Unless that is svc itself, choose another port with --port.");
}

/** Connections that the kernel holds while the server is busy. None where the system does not say. */
export function backlogCheck(read = (path: string) => readFileSync(path, "utf8")): readonly DoctorCheck[] {
  let somaxconn: number;
  try {
    somaxconn = Number(read("/proc/sys/net/core/somaxconn"));
  } catch {
    return [];
  }
  const detail = `the kernel holds up to ${somaxconn} connections until they are accepted`;
  if (somaxconn >= BACKLOG_MIN) return [pass("backlog", detail)];
  const fix = `Bursts of more clients are dropped: sysctl -w net.core.somaxconn=${BACKLOG_MIN}`;
  return [warn("backlog", detail, fix)];
}

/** A split model is as sound as the worst of its files. */
function partsOf(file: string): readonly string[] {
  const [, head, count] = /^(.*)-00001-of-(\d{5})\.gguf$/i.exec(file) ?? [];
  if (head === undefined || count === undefined) return [file];
  const number = (part: number): string => String(part).padStart(5, "0");
  return Array.from({ length: Number(count) }, (_, i) => `${head}-${number(i + 1)}-of-${count}.gguf`);
}

/** Why an address cannot be had; undefined if it can. */
function tryListen(hostname: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host: hostname, port, exclusive: true, ipv6Only: hostname === "::" }, () =>
      server.close(() => resolve(undefined)),
    );
  });
}

export function clockCheck(now: Date): DoctorCheck {
  const detail = now.toISOString();
  if (now.getUTCFullYear() >= YEAR_MIN) return pass("clock", detail);
  return fail("clock", detail, "Set the clock: with a wrong time, TLS certificates are rejected.");
}

function sandboxCheck({
  bubblewrap,
  user_namespaces,
  seccomp,
  network_guard,
  landlock_abi,
  control_groups,
}: Awaited<ReturnType<typeof probeSandbox>>): DoctorCheck {
  const landlock = landlock_abi === null ? "absent" : `ABI ${landlock_abi}`;
  const caps = control_groups === "works" ? "cgroup v2" : `watching (cgroup v2 ${control_groups})`;
  const detail = `bubblewrap ${bubblewrap}, user namespaces ${user_namespaces}, seccomp ${seccomp}, Landlock ${landlock}, network guard ${network_guard}, caps by ${caps}`;
  const works = bubblewrap === "works" || user_namespaces === "works" || landlock_abi !== null;
  if (works && network_guard === "works") return pass("sandbox", detail);
  if (works) {
    return warn(
      "sandbox",
      detail,
      'Tools with network "full" reach this machine: set sandbox.network = "none".',
    );
  }
  return warn(
    "sandbox",
    detail,
    "Tools could not be confined here: allow user namespaces, or install bubblewrap.",
  );
}
