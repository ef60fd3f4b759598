// The generated documents are current and true.

import { expect, test } from "bun:test";
import { parse } from "smol-toml";
import { documents } from "../../src/config/document.ts";
import { loadSettings } from "../../src/config/resolve.ts";
import { ROWS } from "../../src/config/table.ts";

const ROOT = new URL("../../", import.meta.url);

test("the example file as it is changes nothing", () => {
  const configFile = new URL("svc.toml.example", ROOT).pathname;
  const plain = loadSettings({ environment: {} });
  const example = loadSettings({ configFile, environment: {} });
  expect(example.ok && example.settings).toEqual(plain.ok && plain.settings);
});

test("with every line switched on it is valid TOML and shows each available setting", () => {
  const example = documents()["svc.toml.example"] ?? "";
  const toml: unknown = parse(example.replaceAll(/^# (\[|[a-z0-9_]+ = )/gm, "$1"));
  const leaves = (value: unknown): number =>
    typeof value === "object" && value !== null
      ? Object.values(value).reduce((sum: number, inner) => sum + leaves(inner), 0)
      : 1;
  expect(leaves(toml)).toBe(ROWS.filter((row) => row.status === "available").length);
});
