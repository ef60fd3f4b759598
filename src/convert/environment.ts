// Private Python environment of the converter in svc's cache folder: made once with uv or venv, from the package index that pip is
// configured for. NumPy does for most models; those that need PyTorch get an environment with that of the base Python, or a download of
// gigabytes, which needs permission.

import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { runProgram } from "../core/run-program.ts";
import { asideOf, removeTemporary } from "../core/temporary.ts";
import { CONVERT_OUTPUT_CHARS } from "./limits.ts";

/** Oldest Python that the converter runs on. */
const PYTHON_MIN = "3.10";
/**
 * Packages of the converter besides PyTorch. Its release wants protobuf below 5, but what sentencepiece's newer wheels have generated
 * needs the protobuf of its day.
 */
const PACKAGES = [
  "transformers==4.57.6",
  "sentencepiece==0.2.3",
  "protobuf>=7.36.1,<8",
  "pyyaml>=5.1",
  "tqdm>=4.27",
  "requests",
];
/** Of the release; a system's own numpy fits its PyTorch. */
const NUMPY = "numpy~=2.2.6";

/** The Python that a virtual environment was made of: its packages are those that another environment can share. */
const BASE = "import sys; print(getattr(sys, '_base_executable', sys.executable))";
const PROBE = `
import sys
try:
    import torch
    found = torch.__version__
except ImportError:
    found = ""
print(f"{sys.version_info.major}.{sys.version_info.minor}", found, sys.base_prefix, sep="\\n")
`;

/** Where svc kept converted models before they were kept beside their repositories. */
const OLD_MODELS = "convert/models";

export interface EnvironmentOptions {
  /** Programs, one of which is the base Python. */
  readonly pythons: readonly [string, ...string[]];
  readonly cacheDir: string;
  /** Version of the converter, for which the environment is made. */
  readonly version: string;
  /** Whether the model needs PyTorch. */
  readonly needsTorch: boolean;
  /** Whether PyTorch may be downloaded. */
  readonly installsTorch: boolean;
  readonly signal: AbortSignal;
  readonly log: (line: string) => void;
  /** Path of uv, null for none; absent: the one on PATH. */
  readonly uv?: string | null;
}

/** An environment that is ready. */
export interface PythonEnvironment {
  readonly python: string;
  /** Folders that its Python reads. */
  readonly folders: readonly string[];
}

/** What the base Python is. */
interface BasePython {
  readonly program: string;
  /** `3.12`. */
  readonly release: string;
  /** Version of its PyTorch; empty: it has none. */
  readonly torch: string;
  readonly prefix: string;
}

/**
 * What an environment must be able to do. NumPy's and PyTorch's binary interfaces may not fit, which shows where one hands data to the
 * other, not at the import.
 */
const TORCH_PROOF = "import numpy, torch, transformers; torch.from_numpy(numpy.zeros(1)).numpy()";
const PROOF = "import numpy, transformers, sentencepiece";

/** Where an environment's PyTorch is from; numpy: it has none. */
export type EnvironmentKind = "numpy" | "system" | "own";

/** The environment, made if necessary, which can take minutes, and proven. Throws a sentence for people. */
export async function openEnvironment(options: EnvironmentOptions): Promise<PythonEnvironment> {
  const { cacheDir, version, needsTorch, signal, log } = options;
  const base = await basePython(options);
  const { release, torch } = base;
  const packages = Bun.hash([NUMPY, ...PACKAGES].join("\n")).toString(36);
  const kind: EnvironmentKind = !needsTorch ? "numpy" : torch === "" ? "own" : "system";
  rmSync(join(cacheDir, OLD_MODELS), { recursive: true, force: true });
  const folder = join(cacheDir, "convert", `python${release}-${kind}-${version}-${packages}`);
  const environment = { python: join(folder, "bin/python"), folders: [folder, base.prefix] };
  const proof = needsTorch ? TORCH_PROOF : PROOF;
  if (existsSync(folder)) {
    const flaw = await flawOf(environment, proof, signal);
    if (flaw === undefined) return environment;
    log(`the converter's Python environment does not work any more (${flaw}): making it again`);
    rmSync(folder, { recursive: true, force: true });
  }
  if (kind === "own" && !options.installsTorch)
    throw new Error(
      `this model needs PyTorch, and ${base.program} has none. Install the system's (Debian and Ubuntu: apt install python3-torch) and name its Python, --python /usr/bin/python3, or let svc convert --install-torch download PyPI's: on Linux with x86-64 its CUDA build, about 3 GB (PIP_EXTRA_INDEX_URL may name an index of CPU builds).`,
    );
  const means = { numpy: "NumPy", own: "PyPI's PyTorch", system: `the PyTorch ${torch} of ${base.program}` };
  log(`making a Python environment for the converter, with ${means[kind]}`);
  mkdirSync(join(cacheDir, "convert"), { recursive: true });
  const partial = asideOf(folder);
  try {
    await install(base.program, kind, partial, options);
    if (!existsSync(folder)) renameSync(partial, folder); // all or nothing
    await prove(environment, proof, signal);
  } finally {
    removeTemporary(dirname(partial));
  }
  return environment;
}

/** Removes an environment that does not work, and throws why. */
async function prove(environment: PythonEnvironment, proof: string, signal: AbortSignal): Promise<void> {
  const flaw = await flawOf(environment, proof, signal);
  if (flaw === undefined) return;
  rmSync(environment.folders[0] ?? "", { recursive: true, force: true });
  throw new Error(
    `the converter's Python environment was made, but does not work: ${flaw}. Name another Python with --python.`,
  );
}

/** Why an environment does not work; undefined where it does. */
async function flawOf(
  { python }: PythonEnvironment,
  proof: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { code, output } = await run([python, "-c", proof], signal).catch(() => ({ code: 1, output: "" }));
  signal.throwIfAborted();
  return code === 0 ? undefined : reasonLine(output) || `${python} does not run`;
}

/** The first candidate with PyTorch; otherwise the first that runs. Throws if none does. */
async function basePython({ pythons, signal }: EnvironmentOptions): Promise<BasePython> {
  const probed = await Promise.allSettled(pythons.map((python) => probe(python, signal)));
  const found = probed.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
  const best = found.find(({ torch }) => torch !== "") ?? found[0];
  return best ?? probe(pythons[0], signal);
}

/** A Python's base. Throws if it is missing or too old. */
async function probe(python: string, signal: AbortSignal): Promise<BasePython> {
  const given = Bun.which(python);
  if (given === null)
    throw new Error(
      `there is no Python ${python}. Install Python ${PYTHON_MIN} or newer, or name one with --python.`,
    );
  const base = await run([given, "-c", BASE], signal);
  const program = base.code === 0 ? base.output.trim() : given;
  const { code, output } = await run([program, "-c", PROBE], signal);
  const [release = "", torch = "", prefix = ""] = output.split("\n");
  if (code === 0 && isNewEnough(release)) return { program, release, torch, prefix };
  throw new Error(
    `${program} is Python ${code === 0 ? release : "of an unknown version"}; the converter needs ${PYTHON_MIN} or newer. Name one with --python.`,
  );
}

/**
 * Commands that make an environment. uv sees none of the base's packages when it installs: beside the PyTorch of a system it would add a
 * NumPy that does not fit it. There pip installs, which uv brings, because a system's venv often has none.
 */
export function installSteps(
  { program, kind }: { readonly program: string; readonly kind: EnvironmentKind },
  folder: string,
  uv: string | null,
): readonly (readonly string[])[] {
  const python = join(folder, "bin/python");
  const isShared = kind === "system";
  const shared = isShared ? ["--system-site-packages"] : [];
  const own = kind === "own" ? ["torch", NUMPY] : [NUMPY];
  const packages = isShared ? PACKAGES : [...own, ...PACKAGES];
  const pip = [python, "-m", "pip", "install", "--disable-pip-version-check", "--quiet", ...packages];
  if (uv === null) return [[program, "-m", "venv", ...shared, folder], pip];
  const seed = isShared ? ["--seed"] : [];
  const made = [uv, "venv", "--quiet", ...seed, "--python", program, ...shared, folder];
  return [made, isShared ? pip : [uv, "pip", "install", "--quiet", "--python", python, ...packages]];
}

/** Makes a virtual environment with the converter's packages in a folder. */
async function install(
  program: string,
  kind: EnvironmentKind,
  folder: string,
  { signal, uv = Bun.which("uv") }: EnvironmentOptions,
): Promise<void> {
  for (const step of installSteps({ program, kind }, folder, uv)) {
    const { code, output } = await run(step, signal);
    if (code !== 0)
      throw new Error(
        `the converter's Python environment could not be made (${step.slice(1, 4).join(" ")}): ${reasonLine(output)}`,
      );
  }
}

function isNewEnough(release: string): boolean {
  const [major = 0, minor = 0] = release.split(".").map(Number);
  const [majorMin = 0, minorMin = 0] = PYTHON_MIN.split(".").map(Number);
  return major > majorMin || (major === majorMin && minor >= minorMin);
}

async function run(argv: readonly string[], signal: AbortSignal): Promise<{ code: number; output: string }> {
  const { out, err, code } = await runProgram(argv, signal);
  return { code, output: (out + err).slice(-CONVERT_OUTPUT_CHARS) };
}

/** A line of a progress bar, and what pip says of itself. */
const NOISE = /\d{1,3}%\||^\[notice\]|^\s*$/;
/** The last line of a Python traceback. */
const RAISED = /^[\w.]+(?:Error|Exception|Interrupt|Exit)\b/;

/** The line that says why a program failed: the last exception, else the last line that is no progress. */
export function reasonLine(output: string): string {
  const lines = output.split(/[\r\n]+/).filter((line) => !NOISE.test(line));
  return (lines.findLast((line) => RAISED.test(line)) ?? lines.at(-1) ?? "").trim();
}
