// From files, environment and flags to settings or to the list of problems, with real files in a folder of its own.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { formatProblem, formatProblems } from "../../src/config/problem.ts";
import { loadSettings, type LoadOptions, type LoadResult } from "../../src/config/resolve.ts";
import { showSettings } from "../../src/config/show.ts";
import { readSecrets } from "../../src/core/secret.ts";
import { tempDir } from "../helpers/tmp.ts";

let folder = "";

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "svc-config-"));
  for (const name of ["one", "two", "several", "empty", "split", "incomplete", "quants", "acme/here"])
    mkdirSync(join(folder, name), { recursive: true });
  for (const name of ["a.gguf", "b.gguf", "one/only.gguf", "several/x.gguf", "several/y.gguf"]) gguf(name);
  gguf("one/mmproj-only.gguf");
  gguf("split/big-00001-of-00002.gguf");
  gguf("split/big-00002-of-00002.gguf");
  gguf("incomplete/c-00002-of-00003.gguf");
  gguf("quants/m-Q4_0.gguf");
  gguf("quants/m-Q4_K_M.gguf");
  gguf("quants/m-Q8_0.gguf");
  gguf("acme/here/a.gguf");
  writeFileSync(join(folder, "text.gguf"), "hello");
  writeFileSync(join(folder, "two/chat.jinja"), "{{ messages }}");
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function gguf(name: string): void {
  writeFileSync(join(folder, name), "GGUF\u0003\0\0\0");
}

/** Loads with a TOML text, no environment and the test's folder as working directory, unless told otherwise. */
function load(toml: string, options: Partial<LoadOptions> = {}): LoadResult {
  writeFileSync(join(folder, "svc.toml"), toml);
  return loadSettings({ command: "serve", configFile: "svc.toml", environment: {}, folder, ...options });
}

function settingsOf(result: LoadResult) {
  if (!result.ok) throw new Error(formatProblems(result.problems));
  return result.settings;
}

function problemsOf(result: LoadResult): readonly string[] {
  return result.ok ? [] : result.problems.map(formatProblem);
}

describe("defaults", () => {
  test("without configuration: the built-in model and the table's defaults", () => {
    const result = loadSettings({ environment: {} });
    const settings = settingsOf(result);
    expect(settings.command).toBe("serve");
    expect(settings.server).toMatchObject({ host: "0.0.0.0", port: 1234, queue_max: 1024 });
    expect(settings.runtime).toMatchObject({ max_seqs: 32, batch: 2048 });
    expect(settings.runtime.threads).toBeUndefined();
    expect(settings.paged_attn).toEqual({ mode: "auto", cache_type: "auto" });
    expect(settings.models).toHaveLength(1);
    expect(settings.models[0]).toMatchObject({
      model_id: "svc-tiny",
      alias: "svc-tiny",
      device: { cpu: false },
    });
  });
});

describe("state", () => {
  const stateOf = (toml: string, options: Partial<LoadOptions> = {}) =>
    settingsOf(load(toml, options)).server.state;

  test("is memory by default; a file is relative to its origin", () => {
    expect(stateOf("")).toBe("memory");
    expect(stateOf('[server]\nstate = "sqlite:kept/state.db"')).toBe(`sqlite:${folder}/kept/state.db`);
    expect(stateOf("", { flags: { "server.state": "sqlite:/var/s.db" } })).toBe("sqlite:/var/s.db");
  });

  test.each(["ftp://host/x", "host:7000", "http://"])("%s is no dispatch URL", (url) => {
    const [problem] = problemsOf(load("", { flags: { "server.tool_dispatch_url": url } }));
    expect(problem).toContain("is not an http or https URL");
  });

  test("a UNIX socket is relative to the file that names it, and has no other ports", () => {
    const toml = '[server]\nhost = "unix:run/svc.sock"\nmcp_port = 0\n';
    expect(settingsOf(load(toml.replace(/mcp.*/, ""))).server.host).toBe(
      `unix:${join(folder, "run/svc.sock")}`,
    );
    expect(problemsOf(load(toml))).toEqual([
      expect.stringContaining("server.mcp_port: is a port of server.host, which is a UNIX socket."),
    ]);
    for (const host of ["unix:", "/run/svc.sock"])
      expect(problemsOf(load("", { flags: { "server.host": host } }))[0]).toContain("`unix:PATH`");
  });

  test.each(["redis:x", "sqlite:", "state.db"])("%s is rejected with the accepted forms", (state) => {
    const [problem] = problemsOf(load("", { flags: { "server.state": state } }));
    expect(problem).toContain("is not `memory` or `sqlite:FILE`");
  });
});

describe("precedence", () => {
  const toml = "[server]\nport = 1\n";
  test.each([
    ["file over default", {}, {}, 1],
    ["environment over file", { SVC_PORT: "2" }, {}, 2],
    ["own prefix over the literal one", { SVC_PORT: "2", SERVICE_PORT: "3" }, {}, 2],
    ["the literal prefix alone", { SERVICE_PORT: "3" }, {}, 3],
    ["an empty name is not set", { SVC_PORT: "" }, {}, 1],
    ["flag over environment", { SVC_PORT: "2" }, { "server.port": "4" }, 4],
    ["a wrong value that is overruled does not matter", { SVC_PORT: "tcp://x" }, { "server.port": "4" }, 4],
  ])("%s", (_name, environment, flags, port) => {
    expect(settingsOf(load(toml, { environment, flags })).server.port).toBe(port);
  });

  test("the origin of each value is known", () => {
    const result = load(toml, { environment: { SVC_MAX_SEQS: "4" }, flags: { "global.seed": "7" } });
    if (!result.ok) throw new Error("must load");
    expect(showSettings(result).split("\n")).toEqual(
      expect.arrayContaining([
        'host = "0.0.0.0"  # default',
        "port = 1  # svc.toml",
        "max_seqs = 4  # SVC_MAX_SEQS",
        "seed = 7  # --seed",
        'model_id = "svc-tiny"  # default',
      ]),
    );
  });

  test.each([
    ["true", true],
    ["1", true],
    ["Yes", true],
    ["off", false],
    ["0", false],
  ])("a switch in the environment: %s", (text, expected) => {
    const [model] = settingsOf(load("", { environment: { SVC_CPU: text } })).models;
    expect(model?.device.cpu).toBe(expected);
  });
});

test("a token is not printed, neither by `config show` nor in a problem", () => {
  const result = load('[global]\ntoken_source = "literal:hf_secret"');
  if (!result.ok) throw new Error("must load");
  expect(showSettings(result)).toContain('token_source = "literal:…"');
  expect(problemsOf(load('[global]\ntoken_source = "hf_secret"')).join()).not.toContain("secret");
});

describe("command", () => {
  test("the command line decides", () => {
    expect(settingsOf(load("", { command: "run" })).command).toBe("run");
  });

  test("a file with another command wins, with a notice", () => {
    const result = load('command = "run"');
    expect(settingsOf(result).command).toBe("run");
    expect(result.ok && result.notices).toEqual([
      'svc.toml says command = "run", so the terminal chat starts.',
    ]);
  });

  test("no notice if both agree, or only the file has a command", () => {
    const agreed = load('command = "serve"');
    expect(agreed.ok && agreed.notices).toEqual([]);
    const silent = loadSettings({ configFile: "svc.toml", environment: {}, folder });
    expect(silent.ok && silent.notices).toEqual([]);
  });
});

describe("models", () => {
  test("relative to the file's folder, or to the working directory for flags", () => {
    writeFileSync(
      join(folder, "two/svc.toml"),
      '[[models]]\nmodel_id = "../a.gguf"\nchat_template = "chat.jinja"\n',
    );
    const fromFile = settingsOf(loadSettings({ configFile: "two/svc.toml", environment: {}, folder }));
    expect(fromFile.models[0]?.model_id).toBe(join(folder, "a.gguf"));
    expect(fromFile.models[0]?.chat_template).toBe(join(folder, "two/chat.jinja"));
    const fromFlag = settingsOf(load("", { flags: { "models[].model_id": ["b.gguf"] } }));
    expect(fromFlag.models[0]).toMatchObject({ model_id: join(folder, "b.gguf"), alias: "b" });
  });

  test.each([
    ["one", "one/only.gguf", "one"],
    ["split", "split/big-00001-of-00002.gguf", "split"],
    ["split/big-00001-of-00002.gguf", "split/big-00001-of-00002.gguf", "big"],
    ["split/big-00002-of-00002.gguf", "split/big-00001-of-00002.gguf", "big"],
    ["acme/here", "acme/here/a.gguf", "here"],
  ])("%s means %s", (id, file, alias) => {
    const { models } = settingsOf(load("", { flags: { "models[].model_id": [id] } }));
    expect(models[0]).toMatchObject({ model_id: join(folder, file), alias });
  });

  test.each([
    ["nope.gguf", "there is no such file or folder"],
    ["text.gguf", "this is not a GGUF file"],
    ["empty", "there is no GGUF file in it"],
    ["several", "it holds 2 models that fit. Name one with --quantized-file: x.gguf, y.gguf."],
    ["incomplete/c-00002-of-00003.gguf", "part 1 of 3 is not beside it"],
    ["incomplete", "1 of the 3 parts of c-00002-of-00003.gguf are there"],
  ])("%s: %s", (id, words) => {
    const problems = problemsOf(load("", { flags: { "models[].model_id": [id] } }));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toStartWith(`--model: ${id}: `);
    expect(problems[0]).toContain(words);
  });

  test.each([
    ['quantization.quant = "4"', "m-Q4_K_M.gguf"],
    ['quantization.quant = "q8_0"', "m-Q8_0.gguf"],
    ['format.quantized_file = "m-Q4_0.gguf"', "m-Q4_0.gguf"],
  ])("%s picks %s of a folder", (line, file) => {
    const { models } = settingsOf(load(`[[models]]\nmodel_id = "quants"\n${line}`));
    expect(models[0]).toMatchObject({ model_id: join(folder, "quants", file), alias: "quants" });
  });

  test.each([
    ["acme/tiny-GGUF", "acme/tiny-GGUF"],
    ["acme/tiny-GGUF@v2:Q4_K_M", "acme/tiny-GGUF"],
    ["acme/tiny:sub.gguf", "acme/tiny"],
  ])("%s is a repository of the hub, called %s", (id, alias) => {
    const { models } = settingsOf(load("", { flags: { "models[].model_id": [id] } }));
    expect(models[0]).toMatchObject({ model_id: id, alias });
  });

  test("models of flags replace those of the file; flags of models apply to all", () => {
    const toml = '[[models]]\nmodel_id = "svc-tiny"\nalias = "toy"\n';
    const flags = { "models[].model_id": ["a.gguf", "b.gguf"], "models[].device.cpu": true };
    const replaced = settingsOf(load(toml, { flags, environment: { SVC_MAX_SEQ_LEN: "100" } }));
    expect(replaced.models.map((model) => [model.alias, model.device])).toEqual([
      ["a", { cpu: true, cpu_moe: false, max_seq_len: 100 }],
      ["b", { cpu: true, cpu_moe: false, max_seq_len: 100 }],
    ]);
    const kept = settingsOf(load(toml, { flags: { "models[].device.cpu": true } }));
    expect(kept.models.map((model) => [model.alias, model.device.cpu])).toEqual([["toy", true]]);
  });

  test("a list of numbers is one by flag and by environment, too", () => {
    const flags = { "models[].model_id": ["a.gguf"], "models[].device.tensor_split": "3, 1.5" };
    const { models } = settingsOf(load("", { flags }));
    expect(models[0]?.device.tensor_split).toEqual([3, 1.5]);
    const wrong = load("", { flags: { ...flags, "models[].device.tensor_split": "3,half" } });
    expect(wrong).toMatchObject({ ok: false });
  });

  test.each(["a", "a.gguf"])("default_model_id %s becomes the model's name", (id) => {
    const toml = `default_model_id = "${id}"\n[[models]]\nmodel_id = "b.gguf"\n[[models]]\nmodel_id = "a.gguf"\n`;
    expect(settingsOf(load(toml)).default_model_id).toBe("a");
  });

  test("alternative spellings of a value are accepted", () => {
    expect(settingsOf(load('reasoning_effort = "none"')).reasoning_effort).toBe("off");
    expect(settingsOf(load("enable_thinking = false")).thinking).toBe(false);
  });
});

describe("problems", () => {
  test("all are reported at once, each with its place and fix", () => {
    const toml = `
      default_model_id = "zz"
      [server]
      prot = 3
      port = 99999
      disable_metrics = false
      [runtime]
      jinja_explicit = "x.jinja"
      [paged_attn]
      context_len = 512
      memory_mb = 5
      [[models]]
      model_id = "nope.gguf"
    `;
    const problems = problemsOf(
      load(toml, { environment: { SVC_THREADS: "many" }, flags: { "runtime.batch": "1" } }),
    );
    expect(problems).toEqual([
      "svc.toml: server.prot: unknown key. Did you mean port?",
      "svc.toml: server.port: 99999 is not an integer from 0 to 65535. Leave it out for the default, 1234.",
      "svc.toml: runtime.jinja_explicit: not available in this version. Leave it out.",
      'SVC_THREADS: "many" is not an integer from 1 to 1024. Give a value like 8, or remove it.',
      "--batch: 1 is not an integer from 32 to 65536. Leave it out for the default, 2048.",
      "svc.toml: paged_attn.memory_mb: excludes paged_attn.context_len (svc.toml). Keep one of them.",
      'svc.toml: default_model_id: no model is called "zz". Use one of: nope.',
      "svc.toml: models[0].model_id: nope.gguf: there is no such file or folder. Give a GGUF file, a folder with one, or a hub repository (owner/name).",
    ]);
  });

  test.each([
    ["comand = 1", "Did you mean command?"],
    ["[serverr]\nx = 1", "Did you mean server?"],
    ["[server]\nmax_seqs = 4", "max_seqs belongs in [runtime]."],
    ["[runtime]\ncomand = 4", "Did you mean command? It belongs at the top of the file."],
    ["[global]\nbanana = 1", "Known keys here: seed, auto_convert, token_source."],
    ['[[models]]\nmodel_id = "svc-tiny"\ndivice.cpu = true', "Did you mean device?"],
    ['[[models]]\nmodel_id = "svc-tiny"\ncpu = true', "cpu belongs in [models.device]."],
    ['[[models]]\nmodel_id = "svc-tiny"\ntopology = "t"', "llama.cpp does not read topology files"],
    ["server = 3", "Write [server] on a line of its own."],
    ['[models]\nmodel_id = "svc-tiny"', "Write [[models]] and a model_id"],
    ["models = []", "the list of models is empty"],
    ['[[models]]\nalias = "x"', "models[0].model_id: missing."],
    ['[[models]]\nmodel_id = ""', 'models[0].model_id: "" is not a nonempty text.'],
    ["[server]\nport = 1.5", "1.5 is not an integer from 0 to 65535"],
    ["[server]\nport = 2026-01-01", "is not an integer"],
    ["[runtime]\nmax_seqs = 257", "257 is not an integer from 1 to 256"],
    ["[paged_attn]\nmemory_fraction = 1.5", "1.5 is not a number from 0 to 1"],
    ['[paged_attn]\ncache_type = "q8"', 'Did you mean "q8_0"?'],
    ['[sandbox]\nmode = "always"', "is not one of auto, on, off"],
    ["[sandbox]\nmax_memory_mb = 1", "is not an integer from 64"],
    ['[runtime]\nshell_workdir = "x"', "needs runtime.enable_shell = true"],
    ['[[models]]\nmodel_id = "svc-tiny"\nkind = "embedding"', '"embedding" is not available in this version'],
    ['[[models]]\nmodel_id = "svc-tiny"\nadapter.xlora = "x"', "llama.cpp does not support X-LoRA"],
    ["[runtime]\ncode_exec_timeout = 60", "needs runtime.enable_code_execution = true"],
    ["[runtime]\nbatch = 64\nubatch = 128", "128 is more than runtime.batch, 64"],
    ['thinking = true\nreasoning_effort = "none"', "contradicts thinking = true"],
    [
      '[[models]]\nmodel_id = "a.gguf"\n[[models]]\nmodel_id = "a.gguf"',
      'has the same name as models[0], "a"',
    ],
    [
      '[[models]]\nmodel_id = "a.gguf"\n[[models]]\nmodel_id = "b.gguf"\ndevice.cpu = true',
      "models[1].device.cpu: is true here and false in models[0]",
    ],
    ['[[models]]\nmodel_id = "a.gguf"\nkind = "multimodal"', "needs format.mmproj"],
    ['[[models]]\nmodel_id = "a.gguf"\nformat.mmproj = "nope.gguf"', "nope.gguf: there is no such file"],
    ['[[models]]\nmodel_id = "a.gguf"\nalias = "default"', "`default` means the default model"],
    [
      '[[models]]\nmodel_id = "a/b"\n[[models]]\nmodel_id = "a/b:Q8_0"',
      'has the same name as models[0], "a/b"',
    ],
    ['[[models]]\nmodel_id = "quants"\nquantization.quant = "6"', "There are: Q4_0, Q4_K_M, Q8_0."],
    ['[[models]]\nmodel_id = "a.gguf"\nquantization.quant = "6"', "this is a file already"],
    ['[[models]]\nmodel_id = "svc-tiny"\nquantization.quant = "6"', "the built-in model is one file"],
    ['[[models]]\nmodel_id = "a/b:Q8_0"\nquantization.quant = "6"', "the file is chosen twice"],
    [
      '[[models]]\nmodel_id = "a/b"\nquantization.quant = "6"\nformat.quantized_file = "x.gguf"',
      "models[0].format.quantized_file: excludes models[0].quantization.quant",
    ],
    ['[[models]]\nmodel_id = "a.gguf"\ndtype = "f16"', '"f16" is not one of auto'],
    ['[global]\ntoken_source = "hf_secret"', "token_source: not a source of a token"],
    ['[runtime]\nchat_template = "nope.jinja"', "nope.jinja: there is no such file, or it cannot be read"],
    [
      '[runtime]\nmtp_model = "a.gguf"\nspeculative = "ngram"',
      'runtime.mtp_model: is not used with runtime.speculative = "ngram" (svc.toml)',
    ],
    ['[runtime]\nmtp_model = "a.gguf"\nspeculative = "off"', 'with runtime.speculative = "off"'],
    ['[runtime]\nmtp_model = "nope.gguf"', "nope.gguf: there is no such file"],
    ["[runtime]\nmtp_n_predict = 17", "17 is not an integer from 1 to 16"],
    ['[runtime]\nmtp_draft_sampling = "often"', '"often" is not one of auto, greedy, probabilistic'],
    ["[server\nport = 1", "is not valid TOML"],
  ])("%p: %s", (toml, words) => {
    const problems = problemsOf(load(toml));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toStartWith("svc.toml: ");
    expect(problems[0]).toContain(words);
  });

  test("an unavailable setting may repeat its default", () => {
    expect(load("[runtime]\nprefix_cache_n = 16\n[sandbox]\nmax_procs = 64").ok).toBe(true);
  });

  test("a missing file, and a model in place of a configuration file", () => {
    expect(problemsOf(load("", { configFile: "nope.toml" }))[0]).toStartWith(
      "nope.toml: there is no such file.",
    );
    expect(problemsOf(load("", { configFile: "a.gguf" }))[0]).toContain("svc serve -m a.gguf");
  });

  test("a misspelled environment name is a notice", () => {
    const result = load("", { environment: { SVC_MAX_SEQ: "3", SVC_SOMETHING_ELSE: "1", PATH: "/bin" } });
    expect(result.ok && result.notices).toEqual([
      "SVC_MAX_SEQ is not a setting and was ignored; did you mean SVC_MAX_SEQS?",
    ]);
  });
});

describe("what other programs call things", () => {
  test.each([
    [`[[models]]\npath = "x.gguf"`, "svc calls it model_id."],
    [`[[models]]\nmodel_id = "svc-tiny"\nname = "tiny"`, "svc calls it alias."],
    [
      `[[models]]\nmodel_id = "svc-tiny"\nctx_size = 4096`,
      "svc calls it max_seq_len; it belongs in [models.device].",
    ],
    [
      `[[models]]\nmodel_id = "svc-tiny"\nn-gpu-layers = 9`,
      "svc calls it device_layers; it belongs in [models.device].",
    ],
    [`[server]\nn_parallel = 9`, "svc calls it max_seqs; it belongs in [runtime]."],
  ])("%j", (toml, fix) => {
    expect(problemsOf(load(toml)).join("\n")).toContain(fix);
  });

  test.each(["SVC_CTX_SIZE", "SVC_CONTEXT_LENGTH"])("%s is told", (name) => {
    const result = load("", { environment: { [name]: "4096" } });
    expect(result.ok && result.notices).toEqual([
      `${name} is not a setting and was ignored; did you mean SVC_MAX_SEQ_LEN?`,
    ]);
  });

  test.each([
    ["FROM ./model.gguf\nSYSTEM You are kind.\n", "this is an Ollama Modelfile"],
    ["# mine\nmodels:\n  small:\n    cmd: llama-server\n", "this is YAML"],
    ['{ "model": "x.gguf" }', "this is JSON"],
    ["[server\nport = 1", "is not valid TOML"],
  ])("a file of another program is named: %j", (text, what) => {
    expect(problemsOf(load(text)).join("\n")).toContain(what);
  });

  test("a path below the user's folder", () => {
    const [problem] = problemsOf(load(`[[models]]\nmodel_id = "~/no/such.gguf"`));
    expect(problem).toContain("~/no/such.gguf");
    const settings = settingsOf(load(`[server]\nstate = "sqlite:~/state.db"`));
    expect(settings.server.state).toBe(`sqlite:${join(homedir(), "state.db")}`);
  });
});

describe("secrets", () => {
  const SECRET = "a-key-nobody-should-see";

  test("are not shown", () => {
    const result = load(`[server]\napi_keys = ["${SECRET}"]`);
    if (!result.ok) throw new Error(formatProblems(result.problems));
    expect(result.settings.server.api_keys).toEqual([SECRET]);
    const shown = showSettings(result);
    expect(shown).toContain('api_keys = "(not shown)"');
    expect(shown).not.toContain(SECRET);
  });

  test.each([`"${SECRET}"`, `["${SECRET}", ""]`, `["${SECRET}", 5]`, "[]"])(
    "nor told when they are wrong: %s",
    (value) => {
      const problems = problemsOf(load(`[server]\napi_keys = ${value}`));
      expect(problems).toHaveLength(1);
      expect(problems[0]).toContain("server.api_keys");
      expect(problems[0]).not.toContain(SECRET);
    },
  );

  test.each([
    `server = { api_keys = ["good", "\${KEY}"] }`,
    `server.api_keys = ["$KEY"]`,
    `runtime.search_api_key = "x\${KEY:-y}"`,
  ])("are not written as variables, which nothing expands: %s", (toml) => {
    const problems = problemsOf(load(toml));
    expect(problems.at(-1)).toContain("Write env:KEY.");
  });

  test("come from the environment and from files, one a line", () => {
    const file = join(tempDir(), "keys");
    writeFileSync(file, "second\n\n third \n");
    const environment = { KEY: "first", EMPTY: "" };
    const read = (...entries: readonly string[]) => readSecrets("server.api_keys", entries, environment);
    expect(read("env:KEY", `path:${file}`, "plain")).toEqual(["first", "second", "third", "plain"]);
    expect(() => read("plain", "env:EMPTY")).toThrow("server.api_keys[1]: the environment has no such name");
    expect(() => read(`path:${file}.gone`)).toThrow("cannot be read");
    expect(read(" one", "two words ")).toEqual(["one", "two words"]);
    environment.KEY = "ключ";
    for (const entry of ["schlüssel", "a\u{200b}b", "a\nb", "€", "env:KEY"])
      expect(() => read("plain", entry), entry).toThrow("server.api_keys[1]: no client can send it");
  });

  test("come from the environment as a list", () => {
    const settings = settingsOf(load("", { environment: { SVC_API_KEYS: "one,two" } }));
    expect(settings.server.api_keys).toEqual(["one", "two"]);
  });
});
