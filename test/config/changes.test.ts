// Settings that change while the server runs, and that each setting is read by some code.

import { expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { changedSettings, withChanges } from "../../src/config/changes.ts";
import { ROWS } from "../../src/config/table.ts";
import { loadSettings } from "../../src/config/resolve.ts";
import type { Settings } from "../../src/config/settings.ts";
import { tempDir } from "../helpers/tmp.ts";

const folder = tempDir();

function settingsOf(toml: string): Settings {
  writeFileSync(join(folder, "svc.toml"), toml);
  const loaded = loadSettings({ command: "serve", configFile: "svc.toml", environment: {}, folder });
  if (!loaded.ok) throw new Error("the settings of the test are wrong");
  return loaded.settings;
}

const ROOT = join(import.meta.dir, "../../src");

test("changes are taken over by their paths, lists as a whole", () => {
  const before = settingsOf('[server]\nport = 1\naccess_log_format = "text"\n');
  const after = settingsOf(
    'aliases = ["claude-*=default"]\n[server]\nport = 2\naccess_log_format = "json"\n',
  );
  expect(changedSettings(before, after)).toEqual(["server.port", "server.access_log_format", "aliases"]);
  const merged = withChanges(before, after, ["aliases", "server.access_log_format"]);
  expect(changedSettings(before, merged)).toEqual(["server.access_log_format", "aliases"]);
  expect(changedSettings(merged, after)).toEqual(["server.port"]);
  expect(withChanges(after, before, ["aliases"]).aliases).toBeUndefined();
});

test("what has a row is read by code outside the table", () => {
  const code = readdirSync(ROOT, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => readFileSync(join(ROOT, file), "utf8"))
    .filter((text) => !text.includes('from "./field.ts"'))
    .join("\n")
    .replaceAll(/^ *(?:\/\/|\/?\*).*$/gm, "");
  // As a property, in a pattern, or by its path.
  const unread = ROWS.filter(({ status, key, path }) => {
    const reading = new RegExp(`\\.${key}\\b|[{,]\\s*${key}\\s*[,:}=]|"${path}"|"${key}"`);
    return status === "available" && !reading.test(code);
  });
  expect(unread.map(({ path }) => path)).toEqual([]);
});
