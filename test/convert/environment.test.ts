// Conversion of safetensors as far as it needs no Python: the archive of scripts, architectures, refusals.

import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { unknownArchitecture } from "../../src/convert/architectures.ts";
import { convertedBytes } from "../../src/convert/estimate.ts";
import { writtenPercent } from "../../src/convert/run.ts";
import { installSteps, openEnvironment, reasonLine } from "../../src/convert/environment.ts";
import { readConverter, STARTER, unpackConverter } from "../../src/convert/scripts.ts";
import { tempDir } from "../helpers/tmp.ts";

/** A program that answers as a Python of this release, PyTorch and prefix does; it is its own base. */
function fakePython(release: string, torch: string): string {
  const program = join(tempDir(), "python");
  writeFileSync(
    program,
    `#!/bin/sh\ncase "$2" in *_base_executable*) echo "$0";; venv) exit 1;; *) printf '%s\\n%s\\n/usr\\n' '${release}' '${torch}';; esac\n`,
  );
  chmodSync(program, 0o755);
  return program;
}

/**
 * A Python with PyTorch that makes environments. Theirs prove themselves while `works` exists in its folder, and say otherwise why
 * not, as Debian's PyTorch does beside a newer NumPy. `made` counts them.
 */
function makingPython(): { program: string; works: string; made: () => number } {
  const folder = tempDir();
  const works = join(folder, "works");
  const program = join(folder, "python");
  const inner = `#!/bin/sh\ncase "$1" in -m) exit 0;; esac\n[ -e '${works}' ] && exit 0\nprintf 'Traceback\\nRuntimeError: Numpy is not available\\n  0%%|   | 0/9\\n' >&2\nexit 1\n`;
  writeFileSync(join(folder, "inner"), inner);
  writeFileSync(
    program,
    `#!/bin/sh\ncase "$2" in *_base_executable*) echo "$0";;\nvenv) echo x >> '${folder}/made'; mkdir -p "$4/bin"; cp '${folder}/inner' "$4/bin/python"; chmod +x "$4/bin/python";;\n*) printf '3.12\\n2.4.0\\n/usr\\n';; esac\n`,
  );
  chmodSync(program, 0o755);
  const count = (): number =>
    existsSync(join(folder, "made")) ? readFileSync(join(folder, "made"), "utf8").split("x").length - 1 : 0;
  return { program, works, made: count };
}

function open(python: string, cacheDir = tempDir(), needsTorch = true): Promise<string> {
  const signal = new AbortController().signal;
  const options = {
    pythons: [python] as const,
    cacheDir,
    version: "v",
    needsTorch,
    installsTorch: false,
    signal,
    log: () => {},
    uv: null,
  };
  return openEnvironment(options).then(
    (environment) => environment.python,
    (error: Error) => error.message,
  );
}

describe("scripts", () => {
  test("are those of the locked release", () => {
    const lock = JSON.parse(
      readFileSync(join(import.meta.dir, "../../prebuilt/source/package-lock.json"), "utf8"),
    );
    expect(readConverter().release).toBe(lock.packages["node_modules/node-llama-cpp"].version);
  });

  test("are unpacked once, with the starter", () => {
    const cacheDir = tempDir();
    const { folder, version } = unpackConverter(cacheDir);
    for (const file of [STARTER, "convert_hf_to_gguf.py", "gguf-py/gguf/__init__.py"])
      expect(existsSync(join(folder, file))).toBe(true);
    expect(unpackConverter(cacheDir)).toEqual({ folder, version });
  });
});

describe("unknownArchitecture", () => {
  const of = (config: string): string | undefined => {
    const folder = tempDir();
    writeFileSync(join(folder, "config.json"), config);
    return unknownArchitecture(folder);
  };

  test.each(["LlamaForCausalLM", "MixtralForCausalLM", "Qwen2MoeForCausalLM", "Gemma2ForCausalLM"])(
    "%s is supported",
    (name) => expect(of(JSON.stringify({ architectures: [name] }))).toBeUndefined(),
  );

  test("names one that is not", () => {
    expect(of('{"architectures": ["StrangeForCausalLM"]}')).toBe("StrangeForCausalLM");
    const strange = of(JSON.stringify({ architectures: [`\u001B[2J${"X".repeat(100_000)}`] }));
    expect(strange).toBe(`[2J${"X".repeat(197)}…`);
  });

  test("leaves a configuration without one to the converter, and refuses one that is no JSON", () => {
    expect(of('{"model_type": "mamba"}')).toBeUndefined();
    expect(() => of("{")).toThrow("config.json is not valid JSON");
  });
});

describe("before and while the converter writes", () => {
  test("the size of its file is estimated from the headers of the safetensors", () => {
    const folder = tempDir();
    const entry = (dtype: string, shape: number[], bytes: number) => ({
      dtype,
      shape,
      data_offsets: [0, bytes],
    });
    const header = JSON.stringify({
      __metadata__: { format: "pt" },
      a: entry("F32", [10, 100], 4000),
      b: entry("F8_E4M3", [1000], 1000),
      packed: entry("U8", [500], 500),
    });
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(header.length));
    writeFileSync(join(folder, "model.safetensors"), Buffer.concat([length, Buffer.from(header)]));
    expect(convertedBytes(folder, "auto")).toBe(2000 * 2 + 500);
    expect(convertedBytes(folder, "f32")).toBe(2000 * 4 + 500);
    writeFileSync(join(folder, "model.safetensors"), "damaged");
    expect(convertedBytes(folder, "auto")).toBe(7);
  });

  test("its progress is read from what it prints", () => {
    expect(writtenPercent("INFO:gguf.gguf_writer:model.gguf: n_tensors = 3")).toBeUndefined();
    expect(writtenPercent("\rWriting:   0%|    | 0.00/2.68G\rWriting:  45%|####  | 1.21G/2.68G")).toBe(45);
  });
});

describe("the Python environment", () => {
  test("needs a Python", async () => {
    expect(await open("no-such-python")).toContain("there is no Python no-such-python");
  });

  test("needs Python 3.10", async () => {
    expect(await open(fakePython("3.9", "2.4.0"))).toContain("is Python 3.9; the converter needs 3.10");
  });

  test("needs no PyTorch where NumPy does", async () => {
    const { program, works } = makingPython();
    writeFileSync(works, "");
    expect(await open(program, tempDir(), false)).toContain("-numpy-v-");
  });

  test("needs PyTorch, whose download is named with its size and needs a flag", async () => {
    const said = await open(fakePython("3.12", ""));
    for (const words of ["needs PyTorch", "python3-torch", "--install-torch", "about 3 GB"])
      expect(said).toContain(words);
  });

  test("is proven before it is used, made again when it fails, and removed with the reason when that fails too", async () => {
    const { program, works, made } = makingPython();
    const cacheDir = tempDir();
    writeFileSync(works, "");
    const python = await open(program, cacheDir);
    expect([existsSync(python), made()]).toEqual([true, 1]);
    expect([await open(program, cacheDir), made()]).toEqual([python, 1]);
    rmSync(works);
    const said = await open(program, cacheDir);
    expect(said).toContain("does not work: RuntimeError: Numpy is not available");
    expect([existsSync(python), made()]).toEqual([false, 2]);
    writeFileSync(works, "");
    expect([await open(program, cacheDir), made()]).toEqual([python, 3]);
  });

  test("pip installs beside the PyTorch of a system, whose packages uv does not see", () => {
    const system = { program: "/usr/bin/python3", kind: "system" } as const;
    const [venv, install] = installSteps(system, "/env", "/bin/uv");
    expect(venv).toEqual([
      "/bin/uv",
      "venv",
      "--quiet",
      "--seed",
      "--python",
      system.program,
      "--system-site-packages",
      "/env",
    ]);
    expect(install?.slice(0, 4)).toEqual(["/env/bin/python", "-m", "pip", "install"]);
    expect(install?.some((word) => word.startsWith("numpy"))).toBe(false);
    const own = installSteps({ ...system, kind: "own" }, "/env", "/bin/uv")[1];
    expect(own).toEqual(expect.arrayContaining(["/bin/uv", "pip", "torch", "numpy~=2.2.6"]));
    const plain = installSteps({ ...system, kind: "numpy" }, "/env", "/bin/uv")[1];
    expect(plain).toContain("numpy~=2.2.6");
    expect(plain).not.toContain("torch");
    expect(installSteps(system, "/env", null)[0]).toEqual([
      system.program,
      "-m",
      "venv",
      "--system-site-packages",
      "/env",
    ]);
  });

  test.each([
    [
      "Traceback\n  File x\nRuntimeError: Numpy is not available\nWriting:   0%|    | 0.00/90.3M [00:00<?]\n",
      "RuntimeError: Numpy is not available",
    ],
    [
      "ERROR: No matching distribution\n[notice] A new release of pip is available\n",
      "ERROR: No matching distribution",
    ],
    ["torch.cuda.OutOfMemoryError: no memory\nAborted\n", "torch.cuda.OutOfMemoryError: no memory"],
    ["\rWriting:  45%|####  | 1.21G/2.68G\r", ""],
    ["", ""],
  ])("the reason in %j", (output, reason) => {
    expect(reasonLine(output)).toBe(reason);
  });

  test("is not left half-made, and models of an old place are deleted", async () => {
    const cacheDir = tempDir();
    mkdirSync(join(cacheDir, "convert/models"), { recursive: true });
    writeFileSync(join(cacheDir, "convert/models/old.gguf"), "weights");
    const said = await open(fakePython("3.12", "2.4.0"), cacheDir);
    expect(said).toContain("could not be made");
    expect([...new Bun.Glob("convert/*").scanSync({ cwd: cacheDir, onlyFiles: false })]).toEqual([]);
  });
});
