// Files that a call leaves behind, told from those that it must not show.

import { beforeEach, describe, expect, test } from "bun:test";
import { appendFileSync, mkdirSync, symlinkSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { defined } from "../../src/core/defined.ts";
import { PRODUCED_FILE_BYTES_MAX, PRODUCED_FILES_MAX } from "../../src/exec/limits.ts";
import { produced, readAll, snapshot, type Snapshot } from "../../src/exec/produced.ts";
import { tempDir } from "../helpers/tmp.ts";

let folder = "";

beforeEach(() => {
  folder = tempDir();
});

function write(name: string, content: string | Uint8Array = "x"): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  writeFileSync(join(folder, name), content);
}

const names = async (before: Snapshot = new Map(), outputs: readonly { name: string }[] = []) =>
  (await produced(folder, before, outputs)).files.map((file) => file.name);

describe("new and changed files", () => {
  test("are found, sorted by name", async () => {
    write("b.txt");
    write("old.txt");
    const before = await snapshot(folder);
    write("c.txt");
    write("a/z.txt");
    appendFileSync(join(folder, "b.txt"), "more");
    expect(await names(before)).toEqual(["a/z.txt", "b.txt", "c.txt"]);
  });

  test.each([
    ".hidden",
    ".cache/x.txt",
    "skills/s/SKILL.md",
    "a/__pycache__/m.py",
    "node_modules/m/index.js",
    "target/out.txt",
    "tmp/x",
    "temp/x",
    "cache/x",
    "venv/bin/x",
    "env/x",
    "m.pyc",
    "lib.so",
    "a.o",
    "A.class",
  ])("%s is not", async (name) => {
    write(name);
    expect(await names()).toEqual([]);
  });

  test("of too many the newest of the folder itself are reported, and the rest is counted", async () => {
    for (let n = 0; n < PRODUCED_FILES_MAX + 6; n++) write(`repo/f${n}`);
    write("summary.csv");
    write("old.txt");
    utimesSync(join(folder, "old.txt"), 1, 1);
    const { files, filesLeftOut } = await produced(folder, new Map(), []);
    expect(files).toHaveLength(PRODUCED_FILES_MAX);
    expect(files.map(({ name }) => name)).toEqual(expect.arrayContaining(["old.txt", "summary.csv"]));
    expect(filesLeftOut).toBe(8);
  });

  test.each([".git/HEAD", "pyvenv.cfg", "node_modules/m/index.js"])(
    "a folder with %s is one entry, the working directory never",
    async (marker) => {
      write(`made/${marker}`);
      write("made/deep/file.txt");
      write("summary.csv");
      const before = await snapshot(folder);
      write("made/deep/more.txt");
      const first = await produced(folder, new Map(), []);
      expect(first).toMatchObject({ filesLeftOut: 0, folders: ["made"] });
      expect(first.files.map(({ name }) => name)).toEqual(["summary.csv"]);
      expect(await produced(folder, before, [])).toEqual({ files: [], filesLeftOut: 0, folders: [] });
      const [asked] = await produced(folder, before, [{ name: "made/deep/more.txt" }]).then(
        ({ files }) => files,
      );
      expect(asked).toMatchObject({ name: "made/deep/more.txt", mimeType: "text/plain" });
      write(marker);
      expect(await names(before)).not.toContain("made/deep/more.txt");
    },
  );

  test("links and pipes are not produced files", async () => {
    symlinkSync("/etc/passwd", join(folder, "link.txt"));
    Bun.spawnSync(["mkfifo", join(folder, "pipe.txt")]);
    expect(await names()).toEqual([]);
  });

  test("are bounded in number", async () => {
    for (let n = 0; n < PRODUCED_FILES_MAX + 5; n++) write(`f${n}.txt`);
    expect(await names()).toHaveLength(PRODUCED_FILES_MAX);
  });

  test("come after requested files, without duplicates", async () => {
    write("a.txt");
    write("z.txt");
    expect(await names(new Map(), [{ name: "./z.txt" }])).toEqual(["z.txt", "a.txt"]);
  });
});

describe("requested files", () => {
  const fault = async (name: string): Promise<unknown> => {
    const [file] = await readAll(folder, [{ name }]);
    return file !== undefined && "error" in file ? file.error : "it is there";
  };

  test.each(["", ".", "/etc/passwd", "../x", "a/../../x", "a\0b", ".."])("%j is no path", async (name) => {
    expect(await fault(name)).toMatchObject({ code: "invalid_path" });
  });

  test("a missing file was not produced", async () => {
    write("file");
    expect(await fault("missing.csv")).toMatchObject({
      code: "not_produced",
      message: "missing.csv: it was not created",
    });
    expect(await fault("file/inside")).toMatchObject({ code: "not_produced" });
  });

  test("a link may point to a file inside only", async () => {
    write("real.txt", "inside");
    symlinkSync("real.txt", join(folder, "link.txt"));
    symlinkSync("/etc/passwd", join(folder, "out.txt"));
    symlinkSync("/etc", join(folder, "etc"));
    const [inside] = await readAll(folder, [{ name: "link.txt" }]);
    expect(inside).toMatchObject({ name: "link.txt", content: Buffer.from("inside") });
    expect(await fault("out.txt")).toMatchObject({ code: "invalid_path" });
    expect(await fault("etc/passwd")).toMatchObject({ code: "invalid_path" });
  });

  test.skipIf(Bun.which("python3") === null)(
    "what is swapped for a link while it is read leads nowhere else",
    async () => {
      const outside = tempDir();
      writeFileSync(join(outside, "inner"), "secret");
      mkdirSync(join(folder, "sub"));
      write("sub/inner", "mine");
      write("swapped", "mine");
      // A file, a link to one outside; a folder, a link to one outside: each takes the other's name, over and over.
      const code = `
import os, sys
folder, outside = sys.argv[1:]
os.chdir(folder)
os.symlink(outside + "/inner", "link"); os.symlink(outside, "dirlink")
while True:
    os.rename("swapped", "file"); os.rename("link", "swapped"); os.rename("swapped", "link"); os.rename("file", "swapped")
    os.rename("sub", "dir"); os.rename("dirlink", "sub"); os.rename("sub", "dirlink"); os.rename("dir", "sub")`;
      const swapping = Bun.spawn(["python3", "-c", code, folder, outside], {
        stdio: ["ignore", "ignore", "inherit"],
      });
      try {
        const seen = new Set<string>();
        for (let n = 0; n < 200 || (!seen.has("invalid_path") && n < 20_000); n++) {
          for (const file of await readAll(folder, [{ name: "swapped" }, { name: "sub/inner" }])) {
            seen.add("content" in file ? String(file.content) : file.error.code);
          }
        }
        expect(seen).toContain("mine");
        expect(seen).toContain("invalid_path"); // it was swapped meanwhile
        expect(seen).not.toContain("secret");
        expect(swapping.exitCode).toBeNull();
      } finally {
        swapping.kill("SIGKILL");
        await swapping.exited;
      }
    },
  );

  test("folders and pipes are rejected without waiting", async () => {
    mkdirSync(join(folder, "d"));
    Bun.spawnSync(["mkfifo", join(folder, "pipe")]);
    expect(await fault("d")).toMatchObject({ code: "read_failed" });
    expect(await fault("pipe")).toMatchObject({ code: "read_failed" });
  });

  test("a file above the limit is rejected", async () => {
    write("large.bin");
    truncateSync(join(folder, "large.bin"), PRODUCED_FILE_BYTES_MAX + 1);
    expect(await fault("large.bin")).toMatchObject({ code: "too_large" });
  });

  test("one call reports a bounded number of files", async () => {
    const asked = Array.from({ length: PRODUCED_FILES_MAX + 1 }, (_, n) => ({ name: `f${n}` }));
    expect((await readAll(folder, asked)).at(-1)).toMatchObject({ error: { code: "too_large" } });
  });
});

describe("formats", () => {
  test.each([
    ["a.CSV", undefined, "csv", "text/csv", true],
    ["report", "md", "md", "text/markdown", true],
    ["a.b", ".PY", "py", "text/x-python", true],
    ["chart.vega-lite", undefined, "vega-lite", "application/json", true],
    ["p.png", undefined, "png", "image/png", false],
    ["noext", undefined, "", "application/octet-stream", false],
    [".bashrc", undefined, "", "application/octet-stream", false],
  ])("%s as %p", async (name, format, expected, mimeType, isText) => {
    write(name, "x");
    const [file] = await readAll(folder, [{ name, ...defined({ format }) }]);
    expect(file).toMatchObject({ format: expected, mimeType, isText });
  });

  test("a text format with invalid UTF-8 is binary", async () => {
    write("bad.csv", Uint8Array.of(0x61, 0xff));
    const [file] = await readAll(folder, [{ name: "bad.csv" }]);
    expect(file).toMatchObject({ format: "csv", mimeType: "application/octet-stream", isText: false });
  });
});
