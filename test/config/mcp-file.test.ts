// The file of MCP servers: defaults, every problem at once, and that no problem quotes a secret.

import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readMcpFile } from "../../src/config/mcp-file.ts";
import { formatProblem } from "../../src/config/problem.ts";
import { loadSettings } from "../../src/config/resolve.ts";
import { tempDir } from "../helpers/tmp.ts";

function write(content: unknown): string {
  const file = join(tempDir(), "mcp.json");
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  return file;
}

function configOf(content: unknown) {
  const read = readMcpFile(write(content));
  if (!read.ok) throw new Error(read.problems.map(formatProblem).join("\n"));
  return read.config;
}

/** Problems without the file's path. */
function problemsOf(content: unknown): readonly string[] {
  const file = write(content);
  const read = readMcpFile(file);
  return read.ok ? [] : read.problems.map((problem) => formatProblem(problem).replace(file, "FILE"));
}

const HTTP = { type: "Http", url: "https://example.com/mcp" } as const;

test("an empty list is a configuration, with the defaults of the interface", () => {
  expect(configOf({ servers: [] })).toEqual({
    servers: [],
    registersTools: true,
    toolTimeoutMs: 30_000,
    callsMax: 10,
  });
});

test("every key is read", () => {
  const config = configOf({
    auto_register_tools: false,
    tool_timeout_secs: 5,
    max_concurrent_calls: 2,
    servers: [
      { id: "a", name: "A", source: HTTP, tool_prefix: "web", resources: ["x://*"], bearer_token: "secret" },
      { id: "off", enabled: false, source: HTTP },
      {
        id: "b",
        tool_prefix: null,
        source: { type: "Process", command: "npx", args: ["x"], env: { K: "v" } },
      },
      { source: { type: "WebSocket", url: "wss://example.com", headers: { "x-key": "k" }, timeout_secs: 3 } },
    ],
  });
  expect(config).toMatchObject({ registersTools: false, toolTimeoutMs: 5000, callsMax: 2 });
  const [web, local, socket, ...others] = config.servers;
  expect(others).toEqual([]);
  expect(web).toEqual({ id: "a", label: "A", prefix: "web", bearerToken: "secret", source: HTTP });
  expect(local).toEqual({
    id: "b",
    label: "b",
    source: { type: "Process", command: "npx", args: ["x"], env: { K: "v" } },
  });
  expect(socket?.label).toBe("servers[3]");
  expect(socket?.prefix).toMatch(/^mcp_[0-9a-f]{32}$/);
  expect(socket?.id).toMatch(/^[0-9a-f-]{36}$/);
});

test("a default prefix is stable for an id", () => {
  const prefix = () => configOf({ servers: [{ id: "a", source: HTTP }] }).servers[0]?.prefix;
  expect(prefix()).toMatch(/^mcp_[0-9a-f]{32}$/);
  expect(prefix()).toBe(prefix());
});

test("a relative work_dir starts at the file's folder and must exist", () => {
  const file = write("");
  const folder = join(file, "..");
  mkdirSync(join(folder, "inner"));
  const source = { type: "Process", command: "x", work_dir: "inner" };
  writeFileSync(file, JSON.stringify({ servers: [{ source }] }));
  const read = readMcpFile(file);
  expect(read.ok && read.config.servers[0]?.source).toMatchObject({ work_dir: join(folder, "inner") });
  expect(problemsOf({ servers: [{ source: { ...source, work_dir: "none" } }] })).toEqual([
    "FILE: servers[0].source.work_dir: there is no such folder. Check the path.",
  ]);
});

test("all problems are reported at once, each with its key and fix", () => {
  const problems = problemsOf({
    tool_timeout_secs: 0,
    max_concurent_calls: 3,
    servers: [
      { id: "", source: { type: "Http", url: "ftp://x" } },
      { source: { type: "Process", comand: "x" } },
      { source: { type: "Sse", url: "http://x" } },
      { source: { type: "Websocket", url: "ws://x" } },
      { source: "npx" },
      { tool_prefix: "has space", source: { ...HTTP, headers: { a: 1 } } },
      { name: "no source" },
    ],
  });
  expect(problems.toSorted()).toEqual(
    [
      "FILE: tool_timeout_secs: a number does not fit here. Write whole seconds, 1 to 86400; the default is 30.",
      "FILE: max_concurent_calls: unknown key. Did you mean max_concurrent_calls?",
      "FILE: servers[0].id: this text does not fit here. Give each server an id of its own.",
      "FILE: servers[0].source.url: this text does not fit here. Write an address that begins with http:// or https://.",
      "FILE: servers[1].source.command: missing. Name the program to start.",
      "FILE: servers[1].source.comand: unknown key. Did you mean command?",
      "FILE: servers[2].source.type: is no known type of source. Use one of Http, Process, WebSocket.",
      "FILE: servers[3].source.type: is no known type of source. Did you mean WebSocket?",
      "FILE: servers[4].source: this text does not fit here. A source is an object with a type.",
      "FILE: servers[5].tool_prefix: this text does not fit here. Use 1 to 64 letters, digits and _ . -; null adds no prefix.",
      "FILE: servers[5].source.headers.a: a number does not fit here. A header's value must be a string.",
      "FILE: servers[6].source: missing. Say how to reach the server.",
    ].toSorted(),
  );
});

test.each<[string, unknown, string]>([
  [
    "no JSON",
    "{servers",
    'FILE: line 1, column 2 is not valid JSON: invalid symbol. The file must be an object such as {"servers": []}.',
  ],
  [
    "JSON without a comma",
    '{\n  "servers": []\n  "a": 1\n}',
    'FILE: line 3, column 3 is not valid JSON: comma expected. The file must be an object such as {"servers": []}.',
  ],
  ["a list", [], "FILE: a list does not fit here. Write an object with a list of servers."],
  ["no servers", {}, "FILE: servers: missing. List the servers, there or in mcpServers."],
  [
    "two of one id",
    {
      servers: [
        { id: "a", source: HTTP },
        { id: "a", source: HTTP },
      ],
    },
    "FILE: servers[1].id: is also the id of servers[0]. Change one of them.",
  ],
  [
    "an address without a host",
    { servers: [{ source: { type: "Http", url: "http://:80" } }] },
    "FILE: servers[0].source.url: this is not an address. Check its spelling.",
  ],
  [
    "a header with a line break",
    { servers: [{ source: { ...HTTP, headers: { "x-key": "a\nb: c" } } }] },
    "FILE: servers[0].source.headers.x-key: this cannot be sent as a header. Check its name and its value.",
  ],
])("refused: %s", (_what, content, problem) => {
  expect(problemsOf(content)).toEqual([problem]);
});

test("no problem quotes a token or a header", () => {
  const problems = problemsOf({
    servers: [
      { bearer_token: ["hunter2"], source: { ...HTTP, headers: { a: ["hunter2"], "b b": "hunter2" } } },
    ],
  });
  expect(problems.length).toBeGreaterThan(0);
  expect(problems.join("\n")).not.toContain("hunter2");
});

test("settings name the file by flag, table or environment, and its problems stop the start", () => {
  const file = write({ servers: [{ id: "a", source: HTTP }] });
  for (const environment of [{ MCP_CONFIG_PATH: file }, { SVC_MCP_CONFIG: file }]) {
    const loaded = loadSettings({ environment });
    expect(loaded.ok && loaded.mcp?.servers).toHaveLength(1);
  }
  const flagged = loadSettings({ environment: {}, flags: { "runtime.mcp_config": write({ servers: 1 }) } });
  expect(flagged.ok ? [] : flagged.problems.map(({ key }) => key)).toEqual(["servers"]);
  const absent = loadSettings({ environment: { MCP_CONFIG_PATH: "/nowhere/mcp.json" } });
  expect(absent.ok ? [] : absent.problems.map(({ key }) => key)).toEqual(["runtime.mcp_config"]);
  expect(loadSettings({ environment: {} })).not.toHaveProperty("mcp");
});

test("the MCP port must not be the server's own", () => {
  const problemsWith = (flags: Record<string, string>) => {
    const loaded = loadSettings({ environment: {}, flags });
    return loaded.ok ? [] : loaded.problems.map(formatProblem);
  };
  const said = ["--mcp-port: 1234 is also server.port. Give each a port of its own."];
  expect(problemsWith({ "server.mcp_port": "1234" })).toEqual(said);
  expect(problemsWith({ "server.mcp_port": "1234", "server.port": "1234" })).toEqual(said);
  expect(problemsWith({ "server.mcp_port": "0", "server.port": "0" })).toEqual([]);
  expect(problemsWith({ "server.mcp_port": "1235" })).toEqual([]);
});

test("the format of desktop clients is accepted", () => {
  const { servers } = configOf({
    servers: [{ id: "own", source: HTTP }],
    mcpServers: {
      "my files": { command: "npx", args: ["-y", "x"], env: { A: "1" }, type: "stdio", autoApprove: [] },
      web: { type: "streamable-http", url: "https://example.com/mcp", headers: { a: "b" } },
      socket: { url: "wss://example.com/mcp" },
      off: { command: "x", disabled: true },
    },
  });
  expect(servers.map(({ id, prefix, source }) => [id, prefix, source])).toEqual([
    ["own", expect.stringMatching(/^mcp_/), HTTP],
    ["my files", "my_files", { type: "Process", command: "npx", args: ["-y", "x"], env: { A: "1" } }],
    ["web", "web", { ...HTTP, headers: { a: "b" } }],
    ["socket", "socket", { type: "WebSocket", url: "wss://example.com/mcp" }],
  ]);
  expect(problemsOf({ mcpServers: { a: { args: [] }, b: { command: "x", cwd: "/no/such" } } })).toEqual([
    "FILE: mcpServers.a: an object does not fit here. Write a command, with args, env and cwd, or a url, with headers.",
  ]);
  expect(problemsOf({ mcpServers: { b: { command: "x", cwd: "/no/such" } } })).toEqual([
    "FILE: mcpServers.b.cwd: there is no such folder. Check the path.",
  ]);
});

test("files of editors and other programs are read: comments, a byte order mark, their words for keys", () => {
  const code = `\uFEFF{
    // of Visual Studio Code
    "inputs": [{ "type": "promptString", "id": "key" }],
    "servers": {
      "web": { "type": "http", "url": "https://a.example/mcp", "headers": { "x": "y" } }, /* one */
      "files": { "command": "npx", "args": ["x"], "dev": { "watch": "*" } },
    },
  }`;
  expect(configOf(code).servers.map(({ id, prefix, source }) => [id, prefix, source.type])).toEqual([
    ["web", "web", "Http"],
    ["files", "files", "Process"],
  ]);
  const gemini = {
    theme: "dark",
    mcpServers: {
      g: { httpUrl: "https://b.example/mcp", timeout: 90_000 },
      off: { command: "x", enabled: false, env: { A: "${NOT_SET_ANYWHERE}" } },
    },
  };
  expect(configOf(gemini).servers).toMatchObject([
    { id: "g", source: { type: "Http", url: "https://b.example/mcp" }, toolTimeoutMs: 90_000 },
  ]);
  const windsurf = { mcpServers: { w: { serverUrl: "https://c.example/mcp", startup_timeout_secs: 60 } } };
  expect(configOf(windsurf).servers).toMatchObject([
    { source: { url: "https://c.example/mcp" }, startupMs: 60_000 },
  ]);
  expect(configOf({ mcp: { servers: { n: { command: "x" } } } }).servers).toMatchObject([{ id: "n" }]);
});

test("faults of these files name their keys", () => {
  expect(problemsOf({ servers: { a: { url: "ftp://x" }, b: { command: 4 } } })).toEqual([
    "FILE: servers.a.url: this text does not fit here. Write an address that begins with http://, https://, ws:// or wss://.",
    "FILE: servers.b.command: a number does not fit here. Name the program to start.",
  ]);
  expect(problemsOf({ mcpServers: { a: { command: "x", args: "y" } }, max_concurent_calls: 3 })).toEqual([
    "FILE: max_concurent_calls: unknown key. Did you mean max_concurrent_calls?",
    "FILE: mcpServers.a.args: this text does not fit here. args must be a list of strings.",
  ]);
});

test("variables of the environment stand for values; one without a value is named", () => {
  const file = write({
    servers: [
      { id: "a", bearer_token: "env:TOKEN", source: { ...HTTP, headers: { "x-key": "k-${env:KEY}" } } },
    ],
    mcpServers: {
      b: {
        command: "${PROGRAM:-npx}",
        args: ["${HOME}/x", "env:TOKEN", "$HOME"],
        env: { T: "env:TOKEN", U: "Bearer ${TOKEN}" },
      },
    },
  });
  const read = readMcpFile(file, { TOKEN: "hunter2", KEY: "k", HOME: "/home/me" });
  expect(read.ok && read.config.servers).toMatchObject([
    { bearerToken: "hunter2", source: { headers: { "x-key": "k-k" } } },
    {
      source: {
        command: "npx",
        args: ["/home/me/x", "env:TOKEN", "$HOME"],
        env: { T: "hunter2", U: "Bearer hunter2" },
      },
    },
  ]);
  expect(problemsOf({ servers: { a: { command: "x", env: { K: "${input:key}", T: "env:NO" } } } })).toEqual([
    "FILE: servers.a.env.K: input of an editor has no value here. Write a variable of the environment, such as ${NAME} or env:NAME, or the value.",
    "FILE: servers.a.env.T: the environment has no variable NO. Set it for svc, or write ${NO:-DEFAULT}.",
  ]);
  // Keys that mean nothing here may name what they like, and a key in another program's words is one fault.
  expect(problemsOf({ servers: { a: { command: "x", envFile: "${workspaceFolder}/.env" } } })).toEqual([]);
  expect(problemsOf({ mcpServers: { a: { httpUrl: "https://${NO}/mcp" } } })).toEqual([
    "FILE: mcpServers.a.url: the environment has no variable NO. Set it for svc, or write ${NO:-DEFAULT}.",
  ]);
});

test("a registered OAuth client is read, also in the words of other programs", () => {
  const file = write({
    servers: [
      { id: "a", source: HTTP, oauth: { client_id: "x", client_secret: "env:SECRET", callback_port: 8123 } },
    ],
    mcpServers: { b: { url: HTTP.url, oauth: { clientId: "y", scopes: ["read"] } } },
  });
  const read = readMcpFile(file, { SECRET: "s" });
  expect(read.ok && read.config.servers).toMatchObject([
    { oauth: { client_id: "x", client_secret: "s", callback_port: 8123 } },
    { oauth: { client_id: "y" } },
  ]);
});
