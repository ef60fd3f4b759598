// Configuration files of clients: svc's part enters and leaves, the user's part stays.

import { describe, expect, test } from "bun:test";
import { parse as parseJson } from "jsonc-parser";
import { parse as parseToml } from "smol-toml";
import { parse as parseYaml } from "yaml";
import type { ClientFile, Target } from "../../src/clients/client.ts";
import { CLIENTS, clientNamed } from "../../src/clients/clients.ts";
import { merged, unmerged } from "../../src/clients/merge.ts";
import { fileText, startText } from "../../src/clients/text.ts";

const TARGET: Target = {
  root: "http://h:1",
  model: "owner/a b's",
  key: "k1",
  context: 16_384,
  images: true,
};

function fileOf(id: string, target = TARGET): ClientFile {
  const file = clientNamed(id)?.connect(target).file;
  if (file === undefined) throw new Error(`${id} has no file`);
  return file;
}

const WITH_FILES = CLIENTS.filter((client) => client.connect(TARGET).file !== undefined).map(({ id }) => id);
const READ: Readonly<Record<ClientFile["format"], (text: string) => unknown>> = {
  json: (text) => parseJson(text) as unknown,
  yaml: (text) => parseYaml(text) as unknown,
  toml: (text) => parseToml(text),
};
const parsed = (file: ClientFile, text: string): unknown => READ[file.format](text);

/** Files of users, with comments and choices of their own. */
const USERS: Readonly<Record<string, string>> = {
  codex: '# mine\nmodel = "o9"\n\n[model_providers.other]\nbase_url = "x" # keep\n',
  opencode: '{\n  // mine\n  "model": "a/b",\n  "provider": { "x": { "name": "X" } },\n}\n',
  pi: '{ "providers": { "x": { "baseUrl": "y" } } }\n',
  continue: "# mine\nname: Me\nmodels:\n- name: other # first\n  provider: x\nrules: [short]\n",
  cline:
    '{\n  "version": 1,\n  "lastUsedProvider": "anthropic",\n  "providers": { "anthropic": { "settings": {} } }\n}\n',
  zed: '// Zed\n{\n  "theme": "One", // dark\n  "language_models": { "ollama": { "api_url": "z" } },\n}\n',
  vscode: '[\n  { "name": "mine", "vendor": "ollama" } // local\n]\n',
};
const COMMENTS: Readonly<Record<string, readonly string[]>> = {
  codex: ["# mine", "# keep"],
  opencode: ["// mine"],
  continue: ["# mine", "# first"],
  zed: ["// Zed", "// dark"],
  vscode: ["// local"],
};

test("numbers of a user's YAML stay as they are written", () => {
  const user =
    "name: Me\nid: 12345678901234567890123\npin: 012\nlist: [+5, .5, 1e3, 0x1F]\nmodels:\n- name: other\n";
  const file = fileOf("continue");
  const { text, replaced } = merged(file, user, []);
  for (const kept of ["id: 12345678901234567890123", "pin: 012", "[ +5, .5, 1e3, 0x1F ]"])
    expect(text).toContain(kept);
  expect(unmerged(file, text, replaced).text).toContain("pin: 012");
});

describe.each(WITH_FILES)("%s", (id) => {
  test("a new file is what is shown, a second time changes nothing, and nothing is left of it", () => {
    const file = fileOf(id);
    const first = merged(file, "", []);
    expect(parsed(file, first.text)).toEqual(parsed(file, fileText(file)));
    expect(merged(file, first.text, first.replaced)).toEqual(first);
    expect(unmerged(file, first.text, first.replaced).isBare).toBe(true);
  });

  test("a user's file keeps all else, with its comments, and comes back", () => {
    const file = fileOf(id);
    const user = USERS[id] ?? "";
    const first = merged(file, user, []);
    for (const comment of COMMENTS[id] ?? []) expect(first.text).toContain(comment);
    expect(first.text).toContain(TARGET.root);
    const other = fileOf(id, { ...TARGET, root: "http://other:2", key: "k2" });
    const second = merged(other, first.text, first.replaced);
    expect(second.text).not.toContain(TARGET.root);
    const { text: back } = unmerged(file, second.text, second.replaced);
    expect(parsed(file, back ?? "")).toEqual(parsed(file, user));
    // An item that is taken out of a list takes the comment before it along; place.ts keeps the text as it was.
    for (const comment of id === "vscode" ? [] : (COMMENTS[id] ?? [])) expect(back).toContain(comment);
    expect(unmerged(file, user, []).text).toBe(user);
  });

  test("a file that is not of its format is refused", () => {
    for (const text of ['{"a": [', "a: [", '"']) {
      expect(() => merged(fileOf(id), text, [])).toThrow(/is not (?:JSON|YAML|TOML)|not a list/);
    }
  });
});

test("what svc replaced comes back, unless the user has changed it since", () => {
  const file = fileOf("cline");
  const user = '{ "lastUsedProvider": "anthropic", "providers": { "openai-compatible": { "mine": 1 } } }\n';
  const { text, replaced } = merged(file, user, []);
  expect(parseJson(unmerged(file, text, replaced).text)).toEqual(parseJson(user));
  const changed = text.replace('"lastUsedProvider": "openai-compatible"', '"lastUsedProvider": "groq"');
  expect(parseJson(unmerged(file, changed, replaced).text).lastUsedProvider).toBe("groq");
});

test("an item of the user's of the same name comes back; comments alone are no file", () => {
  const file = fileOf("continue");
  const user = "models:\n  - name: other\n  - name: svc\n    model: mine\n";
  const { text, replaced } = merged(file, user, []);
  const again = merged(fileOf("continue", { ...TARGET, root: "http://other:2" }), text, replaced);
  expect(parsed(file, unmerged(file, `${again.text}\n`, again.replaced).text)).toEqual(parsed(file, user));
  const commented = merged(file, "# mine\n", []);
  expect(commented.text).toStartWith("# mine\n");
  expect(unmerged(file, commented.text, commented.replaced).text).toContain("# mine");
});

test("a user's own table of the same name is not doubled", () => {
  const user = '[model_providers.svc]\nbase_url = "x"\n';
  expect(() => merged(fileOf("codex"), user, [])).toThrow("config.toml has model_providers.svc already");
});

test("lines of a shell keep words whole", async () => {
  for (const client of CLIENTS) {
    const connection = client.connect(TARGET);
    const text = startText(
      { ...client, programs: ["printf", "x"] },
      { ...connection, args: ["%s,", ...connection.args] },
    );
    const out = await new Response(Bun.spawn(["sh", "-c", text.replaceAll("~/", "/")]).stdout).text();
    expect(out).toBe(connection.args.map((word) => `${word.replace("~/", "/")},`).join("") || ",");
  }
});
