// Configuration files of clients on disk: what svc launch writes, and what comes back.

import { describe, expect, test } from "bun:test";
import { chmodSync, lstatSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { clientNamed } from "../../src/clients/clients.ts";
import { connect, disconnect } from "../../src/clients/place.ts";
import { tempDir } from "../helpers/tmp.ts";

const KEY = "sekret-key";

function setUp(id: string, names: readonly string[], text?: string) {
  const home = join(tempDir(), "a b é");
  const places = { home, note: join(home, ".config", "svc", "launched.json"), environment: {} };
  const target = { root: "http://h:1", model: "m", key: KEY, context: 16_384, images: false };
  const file = clientNamed(id)?.connect(target).file;
  if (file === undefined) throw new Error(`${id} has no file`);
  const path = join(home, ...names);
  mkdirSync(join(path, ".."), { recursive: true });
  if (text !== undefined) writeFileSync(path, text);
  const read = () => readFileSync(path, "utf8");
  const mode = () => statSync(path).mode & 0o777;
  return {
    path,
    places,
    read,
    mode,
    connect: (key = KEY) => connect(file, places, key),
    disconnect: () => disconnect(file, places),
  };
}

const OPENCODE = [".config", "opencode", "opencode.json"];
const CODEX = [".codex", "config.toml"];
const opencode = (text?: string) => setUp("opencode", OPENCODE, text);

describe("a file of the user", () => {
  test.each([
    ["with comments", '{\n  // c\n  "theme": "x", /* d */\n}'],
    ["with a byte order mark", '\u{feff}{"theme":"x"}'],
    ["of Windows", '{\r\n\t"theme": "x"\r\n}\r\n'],
    ["that is empty", ""],
    ["with an entry of that name", '{"provider": {"svc": {"mine": 1}}}'],
  ])("%s comes back as it was", (_, text) => {
    const { connect: place, disconnect: remove, read } = opencode(text);
    expect(place().isNew).toBe(true);
    expect(read()).toContain(KEY);
    expect(read().startsWith("\u{feff}")).toBe(text.startsWith("\u{feff}"));
    expect(place().isNew).toBe(false);
    remove();
    expect(read()).toBe(text);
  });

  test("that others can read is its owner's while a key stands in it", () => {
    const { path, connect: place, disconnect: remove, mode } = opencode("{}");
    chmodSync(path, 0o664);
    place("none");
    expect(mode()).toBe(0o664);
    place();
    expect(mode()).toBe(0o600);
    place();
    remove();
    expect(mode()).toBe(0o664);
  });

  test.each([
    ["opencode", OPENCODE, "{}"],
    ["opencode", OPENCODE, "null"],
    ["opencode", OPENCODE, '{"$schema":"x"}'],
    ["vscode", [".config", "Code", "User", "chatLanguageModels.json"], "[]"],
    ["codex", CODEX, "\n"],
  ])("of %s in which svc wrote nothing stays: %s %j", (id, names, text) => {
    const { disconnect: remove, read } = setUp(id, names, text);
    expect(remove()).toBeUndefined();
    expect(read()).toBe(text);
  });

  test.each([
    ["opencode", OPENCODE, '{"provider": null}', "provider of opencode.json is no object"],
    ["opencode", OPENCODE, "[]", "the whole of opencode.json is no object"],
    ["opencode", OPENCODE, "null", "the whole of opencode.json is no object"],
    ["continue", [".continue", "config.yaml"], "- a\n", "the whole of config.yaml is no object"],
    [
      "vscode",
      [".config", "Code", "User", "chatLanguageModels.json"],
      "{}",
      "the whole of chatLanguageModels.json is not a list",
    ],
    ["codex", CODEX, 'model_providers = { y = { name = "y" } }', "write it in brackets"],
    ["codex", CODEX, '[model_providers.svc]\nname = "y"', "has model_providers.svc already"],
  ])("of %s that cannot take it is named and stays: %s %s", (id, names, text, message) => {
    const { path, connect: place, read } = setUp(id, names, text);
    expect(() => place()).toThrow(`${path} was not changed: `);
    expect(() => place()).toThrow(message);
    expect(read()).toBe(text);
  });
});

describe("what a user did meanwhile stays:", () => {
  const YAML = [".continue", "config.yaml"];
  test.each([
    ["opencode", OPENCODE, "", "\n"],
    ["opencode", OPENCODE, " \n", ""],
    ["continue", YAML, "", "\n\n"],
    ["codex", CODEX, "", "\n\n"],
    ["vscode", [".config", "Code", "User", "chatLanguageModels.json"], "", " "],
  ])("of %s a file that was there does not go: %s %j", (id, names, text, typed) => {
    const { path, connect: place, disconnect: remove, read } = setUp(id, names, text);
    place();
    writeFileSync(path, read() + typed);
    remove();
    expect(existsSync(path)).toBe(true);
    expect(read()).not.toContain(KEY);
  });

  test.each([
    ["opencode", OPENCODE, (text: string) => `// mine\n${text}`],
    ["opencode", OPENCODE, (text: string) => text.replace("{", "{ /* mine */")],
    ["continue", YAML, (text: string) => `# mine\n${text}`],
    ["codex", CODEX, (text: string) => `${text}\n# mine\n`],
    ["codex", CODEX, (text: string) => `# mine\n${text}`.replaceAll("\n", "\r\n")],
  ])("a comment in a file that svc made for %s, %s", (id, names, comment) => {
    const { path, connect: place, disconnect: remove, read } = setUp(id, names);
    place();
    writeFileSync(path, comment(read()));
    place("other-key");
    remove();
    expect(read()).toContain("mine");
    expect(read()).not.toContain("svc");
  });

  test("a file that svc made goes, also when it was written twice", () => {
    const { path, connect: place, disconnect: remove, read } = opencode();
    place();
    writeFileSync(path, `${read()}\n`);
    place("other-key");
    remove();
    expect(existsSync(path)).toBe(false);
  });
});

test("a file that is no UTF-8 text is refused and stays as it is", () => {
  const { path, connect: place, disconnect: remove } = opencode();
  const bytes = Buffer.from('{"theme": "\u00fc"}', "latin1");
  writeFileSync(path, bytes);
  for (const act of [place, remove])
    expect(() => act()).toThrow(`${path} was not changed: it is no UTF-8 text`);
  expect(readFileSync(path).equals(bytes)).toBe(true);
});

test("a link to a file that is missing stays a link", () => {
  const { path, places, connect: place, disconnect: remove, read } = opencode();
  const target = join(places.home, "dot", "o.json");
  symlinkSync("../../dot/o.json", path);
  place();
  expect(lstatSync(path).isSymbolicLink()).toBe(true);
  expect(read()).toBe(readFileSync(target, "utf8"));
  remove();
  expect([lstatSync(path).isSymbolicLink(), existsSync(target)]).toEqual([true, false]);
});

test.each(["{{", "[1]", '{"PATH": {"replaced": 5}}'])("damaged notes %s do no harm", (notes) => {
  const { path, places, connect: place, disconnect: remove, read } = opencode('{"theme": "x"}');
  place();
  writeFileSync(places.note, notes.replace("PATH", path));
  remove();
  expect(JSON.parse(read())).toEqual({ theme: "x" });
});

test("a folder in the place of the file is named", () => {
  const { path, connect: place, disconnect: remove } = opencode();
  mkdirSync(path);
  for (const act of [place, remove]) expect(() => act()).toThrow(`${path} was not changed: `);
});
