// The generated documents are current and true.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { documents } from "../../src/config/document.ts";
import { loadSettings } from "../../src/config/resolve.ts";
import { ROWS } from "../../src/config/table.ts";
import { tempDir } from "../helpers/tmp.ts";

const ROOT = new URL("../../", import.meta.url);

test("the unchanged example file is a small set-up", () => {
  const example = loadSettings({ configFile: new URL("svc.toml.example", ROOT).pathname, environment: {} });
  expect(example).toMatchObject({
    ok: true,
    settings: { server: { host: "127.0.0.1", port: 1234 }, models: [{ alias: "qwen" }] },
  });
});

/** Reasons that concern this machine or a second setting, and not the line. */
const ELSEWHERE =
  /there is no such|needs |excludes|is not used with|contradicts|only with|no model is called|only a speech/;

test("each commented line of the example is valid where it stands", () => {
  const lines = (documents()["svc.toml.example"] ?? "").split("\n");
  const folder = tempDir();
  const file = join(folder, "svc.toml");
  const switchedOn = lines.flatMap((line, index) => {
    const setting = /^# ([a-z0-9_]+ = .*)$/.exec(line)?.[1];
    if (setting === undefined) return [];
    writeFileSync(file, lines.with(index, setting).join("\n"));
    const loaded = loadSettings({ configFile: file, environment: {} });
    const wrong = loaded.ok
      ? []
      : loaded.problems.filter(({ what, fix }) => !ELSEWHERE.test(`${what} ${fix}`));
    expect(wrong).toEqual([]);
    return [setting];
  });
  expect(switchedOn.length).toBeGreaterThan(100);
});

test("the example shows each available setting", () => {
  const example = documents()["svc.toml.example"] ?? "";
  const missing = ROWS.filter(
    ({ status, key }) => status === "available" && !new RegExp(`\\b${key} = `).test(example),
  );
  expect(missing.map(({ path }) => path)).toEqual([]);
});
