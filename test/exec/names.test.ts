import { describe, expect, test } from "bun:test";
import { mountedNames, sessionFolder, skillFolder } from "../../src/exec/names.ts";

describe("mounted files", () => {
  test.each([
    ["../../etc/passwd", "passwd"],
    ["C:\\Users\\me\\data.csv", "data.csv"],
    ["sales 2024 (é).csv", "sales 2024 (é).csv"],
    ["报告.csv", "报告.csv"],
    ["data größe 📈.csv", "data größe 📈.csv"],
    [".bashrc", "_bashrc"],
    ["...x", "_x"],
    ["skills", "skills-2"],
    ["\ud800.txt", "\ufffd.txt"],
    [`${"ü".repeat(200)}.csv`, `${"ü".repeat(118)}.csv`],
    ["", "file"],
    ["..", "file"],
    [".", "file"],
    ["dir/", "file"],
    ["-rf", "-rf"],
    ["a\0b\n.txt", "a_b_.txt"],
  ])("%j lies in %j", (name, expected) => {
    expect(mountedNames([name])).toEqual([expected]);
  });

  test("equal names get distinct suffixes, also distinct from similar names", () => {
    expect(mountedNames(["a.csv", "x/a.csv", "a-2.csv", "a.csv", "noext", "noext"])).toEqual([
      "a.csv",
      "a-2.csv",
      "a-2-2.csv",
      "a-3.csv",
      "noext",
      "noext-2",
    ]);
  });
});

test("a skill's folder has letters, digits, _ and - only", () => {
  expect([skillFolder("pdf tools/../x"), skillFolder("ok-1"), skillFolder("")]).toEqual([
    "pdf_tools____x",
    "ok-1",
    "skill",
  ]);
});

describe("a session's folder", () => {
  test("is its id if that is a plain name", () => {
    expect(sessionFolder("sess_4Fzk-x.1")).toBe("sess_4Fzk-x.1");
  });

  test.each(["../other", "..", ".", ".hidden", "", "a/b", "a\0b", "ä", "x".repeat(300)])(
    "is a name of its own for %j",
    (id) => {
      expect(sessionFolder(id)).toMatch(/^\.[0-9a-f]{32}$/);
    },
  );

  test("differs for ids that are equal after cleaning", () => {
    expect(new Set(["a/b", "a?b", "a b"].map(sessionFolder)).size).toBe(3);
  });
});
