import { describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { ServiceError } from "../../src/core/error.ts";
import type { SkillUpload } from "../../src/core/skills.ts";
import { refuseForeignFolder } from "../../src/skills/load.ts";
import { SkillStore } from "../../src/skills/store.ts";
import { tempDir } from "../helpers/tmp.ts";
import { type TestEntry, zipOf } from "../helpers/zip.ts";

const root = tempDir();
let folders = 0;
const HEAD = "---\nname: poems\ndescription: Writes poems.\n---\nRhyme.\n";

function newStore(folder = join(root, `skills-${folders++}`)) {
  const logged: string[] = [];
  const store = new SkillStore({
    folder,
    clock: () => 1_700_000_000_000,
    log: (line) => void logged.push(line),
  });
  return { store, folder, logged };
}

const piece = (content: string | Uint8Array) => new Uint8Array(Buffer.from(content));
/** An upload of loose files. */
const loose = (files: Readonly<Record<string, string>>): SkillUpload => {
  return { files: Object.entries(files).map(([path, content]) => ({ path, pieces: [piece(content)] })) };
};
const zipped = (entries: readonly TestEntry[], path = "skill.zip"): SkillUpload => {
  return { files: [{ path, pieces: [zipOf(entries)] }] };
};

async function refusal(storing: Promise<unknown>): Promise<string> {
  return storing.then(
    () => "stored",
    (error: unknown) => {
      if (error instanceof ServiceError && error.code === "invalid_skill_upload") return error.message;
      throw error;
    },
  );
}

/** Every file under a folder with its text. */
function contentsOf(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).toSorted();
  const files = names.filter((name) => statSync(join(folder, name)).isFile());
  return Object.fromEntries(files.map((name) => [name, readFileSync(join(folder, name), "utf8")]));
}

describe("a skill", () => {
  test.each<[string, SkillUpload]>([
    ["as loose files of one folder", loose({ "poems/SKILL.md": HEAD, "poems/lib/words.txt": "moon June" })],
    ["as loose files", loose({ "SKILL.md": HEAD, "lib/words.txt": "moon June" })],
    [
      "as an archive",
      zipped([
        { name: "SKILL.md", content: HEAD },
        { name: "lib/words.txt", content: "moon June" },
      ]),
    ],
    [
      "as an archive of one folder with what packers add",
      zipped(
        [
          { name: "poems/", mode: 0o040755 },
          { name: "poems/SKILL.md", content: HEAD },
          { name: "__MACOSX/poems/._SKILL.md", content: "x" },
          { name: "poems/.DS_Store", content: "x" },
          { name: "poems/lib/words.txt", content: "moon June", method: 0 },
        ],
        "whatever",
      ),
    ],
  ])("%s", async (_, upload) => {
    const { store, folder } = newStore();
    const skill = await store.create(upload);
    expect(skill).toEqual({
      skillId: expect.stringMatching(/^skill_[0-9a-f]{32}$/),
      version: 1,
      createdAt: 1_700_000_000,
      name: "poems",
      description: "Writes poems.",
      directory: "poems",
      dir: join(folder, skill.skillId, "versions", "1", "content"),
      files: ["SKILL.md", "lib/words.txt"],
    });
    expect(contentsOf(skill.dir)).toEqual({ "SKILL.md": HEAD, "lib/words.txt": "moon June" });
    expect(readdirSync(folder)).toEqual([skill.skillId]); // nothing is left of the way there
  });

  test("keeps execute permissions", async () => {
    const { store } = newStore();
    const { dir } = await store.create(
      zipped([
        { name: "SKILL.md", content: HEAD },
        { name: "run.sh", content: "echo", mode: 0o100755 },
      ]),
    );
    expect((statSync(join(dir, "run.sh")).mode & 0o111) !== 0).toBe(true);
    expect(statSync(join(dir, "SKILL.md")).mode & 0o111).toBe(0);
  });

  test("has versions, of which `latest` is the newest", async () => {
    const { store } = newStore();
    const { skillId } = await store.create(loose({ "SKILL.md": HEAD }));
    const second = HEAD.replace("Writes", "Reads");
    const all = await Promise.all(
      [1, 2, 3].map(() => store.addVersion(skillId, loose({ "SKILL.md": second }))),
    );
    expect(all.map(({ version }) => version).toSorted((a, b) => a - b)).toEqual([2, 3, 4]);
    expect(store.resolve({ skillId, version: "latest" }, "p")).toMatchObject({
      version: 4,
      description: "Reads poems.",
    });
    expect(store.resolve({ skillId, version: 1 }, "p").description).toBe("Writes poems.");
    expect(store.versions(skillId)).toHaveLength(4);
    for (const reference of [
      { skillId, version: 5 },
      { skillId: "skill_none", version: "latest" },
    ] as const) {
      expect(() => store.resolve(reference, "tools[0]")).toThrow("tools[0]: ");
    }
    const unknown: unknown = await store.addVersion("../x", loose({})).catch((error: unknown) => error);
    expect(unknown).toMatchObject({ code: "skill_not_found" });
  });

  test("survives a restart; an incomplete one is ignored", async () => {
    const { store, folder } = newStore();
    const { skillId } = await store.create({ ...loose({ "SKILL.md": HEAD }), title: "Poems!" });
    await store.addVersion(skillId, loose({ "SKILL.md": HEAD }));
    const broken = join(folder, skillId, "versions", "3");
    mkdirSync(join(broken, "content"), { recursive: true });
    writeFileSync(join(broken, "content", "SKILL.md"), HEAD);
    mkdirSync(join(folder, ".incoming-now"));
    mkdirSync(join(folder, ".incoming-old"));
    utimesSync(join(folder, ".incoming-old"), 1_600_000_000, 1_600_000_000);
    mkdirSync(join(folder, "somebody-elses"));

    const later = newStore(folder);
    expect(later.store.list()).toEqual(store.list());
    expect(later.store.versions(skillId)[0]?.title).toBe("Poems!");
    expect(later.logged).toEqual([`skills: ${broken} is incomplete and was ignored`]);
    expect(readdirSync(folder).toSorted()).toEqual([".incoming-now", skillId, "somebody-elses"].toSorted());
  });
});

test("a store without skills creates no folder", () => {
  const { store, folder } = newStore();
  expect(store.list()).toEqual([]);
  expect(existsSync(folder)).toBe(false);
});

describe("an upload is refused", () => {
  const good: TestEntry = { name: "SKILL.md", content: HEAD };
  const bomb = new Uint8Array(51 * 1024 * 1024);
  test.each<[string, SkillUpload, string]>([
    ["empty", { files: [] }, "files is required"],
    ["without SKILL.md", loose({ "readme.md": "x" }), "SKILL.md must be"],
    ["with two folders", loose({ "a/SKILL.md": HEAD, "b/x": "x" }), "SKILL.md must be"],
    ["with SKILL.md too deep", loose({ "a/b/SKILL.md": HEAD }), "SKILL.md must be"],
    ["without a name", loose({ "": HEAD }), "relative path"],
    ["out of the folder", loose({ "SKILL.md": HEAD, "../x": "x" }), "relative path"],
    ["in an archive, out of the folder", zipped([good, { name: "../../x", content: "x" }]), "relative path"],
    ["absolute", loose({ "SKILL.md": HEAD, "/etc/x": "x" }), "relative path"],
    ["in an archive, absolute", zipped([good, { name: "/etc/x", content: "x" }]), "relative path"],
    ["with a drive", loose({ "SKILL.md": HEAD, "C:/x": "x" }), "relative path"],
    ["with backslashes", loose({ "SKILL.md": HEAD, "a\\..\\..\\x": "x" }), "relative path"],
    ["in an archive, with backslashes", zipped([good, { name: "a\\..\\x", content: "x" }]), "relative path"],
    ["through a dot", loose({ "SKILL.md": HEAD, "a/./x": "x" }), "relative path"],
    ["with a NUL", loose({ "SKILL.md": HEAD, "a\0b": "x" }), "relative path"],
    ["too deep", loose({ "SKILL.md": HEAD, ["a/".repeat(40) + "x"]: "x" }), "relative path"],
    ["with a name that is too long", loose({ "SKILL.md": HEAD, ["ä".repeat(200)]: "x" }), "relative path"],
    ["with duplicate names", zipped([good, good]), "used by another"],
    [
      "with names that differ only in case",
      loose({ "SKILL.md": HEAD, "a/X": "x", "A/x": "y" }),
      "used by another",
    ],
    [
      "a file as a folder",
      zipped([good, { name: "a", content: "x" }, { name: "a/b", content: "x" }]),
      "used by",
    ],
    [
      "a folder as a file",
      zipped([good, { name: "a/b", content: "x" }, { name: "a", content: "x" }]),
      "used by",
    ],
    ["a link", zipped([good, { name: "x", content: "/etc/passwd", mode: 0o120777 }]), "link or a device"],
    ["a device", zipped([good, { name: "x", mode: 0o020666 }]), "link or a device"],
    ["encrypted", zipped([good, { name: "x", content: "x", flags: 1 }]), "encrypted"],
    ["with another compression", zipped([good, { name: "x", content: "x", method: 12 }]), "deflate"],
    ["a file too large", zipped([good, { name: "x", content: bomb }]), "larger than"],
    ["a file with a false size", zipped([good, { name: "x", content: bomb, size: 10 }]), "damaged"],
    [
      "a bomb of many",
      zipped([good, ...[1, 2, 3, 4, 5].map((n) => ({ name: `${n}`, content: bomb.subarray(0, 45 << 20) }))]),
      "at most 209715200 bytes",
    ],
    ["too many", zipped([good, ...Array.from({ length: 501 }, (_, i) => ({ name: `${i}` }))]), "at most 500"],
    [
      "too many folders",
      zipped([good, ...Array.from({ length: 1001 }, (_, i) => ({ name: `${i}/` }))]),
      "at most 500",
    ],
    ["an invalid archive", { files: [{ path: "x.zip", pieces: [piece("hello")] }] }, "not a zip file"],
    [
      "an archive cut short",
      { files: [{ path: "x.zip", pieces: [zipOf([good]).slice(0, 60)] }] },
      "not a zip file",
    ],
    ["without front matter", loose({ "SKILL.md": "# Poems" }), "must start with YAML front matter"],
    [
      "with unclosed front matter",
      loose({ "SKILL.md": "---\nname: x\n" }),
      "must start with YAML front matter",
    ],
    ["with front matter that is not YAML", loose({ "SKILL.md": "---\nname: [\n---\n" }), "valid YAML"],
    ["without a description", loose({ "SKILL.md": "---\nname: x\n---\n" }), "needs a description"],
    ["with a blank name", loose({ "SKILL.md": '---\nname: " "\ndescription: d\n---\n' }), "needs a name"],
    [
      "with a list for a name",
      loose({ "SKILL.md": "---\nname: [a]\ndescription: d\n---\n" }),
      "needs a name",
    ],
    ["with an alias bomb", loose({ "SKILL.md": `---\n${laughs()}\n---\n` }), "valid YAML"],
  ])("%s", async (_, upload, words) => {
    const { store, folder } = newStore();
    expect(await refusal(store.create(upload))).toContain(words);
    expect(store.list()).toEqual([]);
    expect(readdirSync(folder)).toEqual([]);
  });

  /** A billion of them, if aliases were followed. */
  function laughs(): string {
    const lines = ["a0: &a0 [lol]"];
    for (let i = 1; i < 20; i++) {
      lines.push(`a${i}: &a${i} [${Array.from({ length: 9 }, () => `*a${i - 1}`).join(",")}]`);
    }
    return lines.join("\n");
  }
});

test.each([
  ["name: poems\ndescription: >-\n  Writes\n  poems.", "poems", "Writes poems."],
  ["name: 'it''s'\ndescription: \"a: b\"", "it's", "a: b"],
  ["name: 123\ndescription: true", "123", "true"],
])("a head is YAML: %j", async (yaml, name, description) => {
  const { store } = newStore();
  const upload = loose({ "SKILL.md": `\ufeff---\r\n${yaml.replaceAll("\n", "\r\n")}\r\n---\r\nText` });
  expect(await store.create(upload)).toMatchObject({ name, description });
});

test("a folder that is not writable is a server error, and logged", async () => {
  const { store, folder, logged } = newStore();
  writeFileSync(folder, "a file in its place");
  const error: unknown = await store.create(loose({ "SKILL.md": HEAD })).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "storage_unavailable" });
  expect(logged).toHaveLength(1);
  rmSync(folder);
});

test("a folder of another user is refused", () => {
  const own = tempDir();
  expect(() => refuseForeignFolder(own)).not.toThrow();
  expect(() => refuseForeignFolder(join(own, "none"))).not.toThrow();
  writeFileSync(join(own, "file"), "");
  expect(() => refuseForeignFolder(join(own, "file"))).toThrow("belongs to another user");
});
