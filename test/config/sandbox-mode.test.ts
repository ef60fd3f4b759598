import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadSettings } from "../../src/config/resolve.ts";
import { defined } from "../../src/core/defined.ts";
import { tempDir } from "../helpers/tmp.ts";

const folder = tempDir();

function load(file: string, environment: Record<string, string>, flag?: string) {
  writeFileSync(join(folder, "svc.toml"), file);
  const flags = defined({ "sandbox.mode": flag });
  const result = loadSettings({ command: "serve", configFile: "svc.toml", environment, flags, folder });
  if (!result.ok) throw new Error("must load");
  return { mode: result.settings.sandbox.mode, notices: result.notices };
}

test.each([
  ["replaces the default", "", "off", undefined, "off"],
  ["replaces auto", '[sandbox]\nmode = "auto"', "on", undefined, "on"],
  ["does not replace on", '[sandbox]\nmode = "on"', "off", undefined, "on"],
  ["does not replace off", '[sandbox]\nmode = "off"', "on", undefined, "off"],
  ["does not replace a flag", "", "off", "on", "on"],
])("SVC_SANDBOX %s", (_name, file, word, flag, expected) => {
  const { mode, notices } = load(file, { SVC_SANDBOX: word }, flag);
  expect(mode).toBe(expected as typeof mode);
  expect(notices).toHaveLength(mode === word ? 0 : 1);
});

test("an invalid mode is ignored with a notice", () => {
  const { mode, notices } = load("", { SVC_SANDBOX: "yes please" });
  expect(mode).toBe("auto");
  expect(notices).toEqual([
    "SVC_SANDBOX = yes please was ignored: the sandbox's mode is one of auto, on, off.",
  ]);
});
