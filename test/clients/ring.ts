// npm run test:clients: real clients of pinned versions against ./svc, each through a tool loop to a checked end. Installs
// them into a cache folder ($SVC_CLIENTS_CACHE, else ~/.cache/svc-clients) and skips out loud what cannot be had.
// `--write` writes the bodies as fixtures and the table of results into docs/clients.md. Words such as Codex@0.60.1 choose
// agents, in other versions than the pinned ones if they say so:
//
//   bun test/clients/ring.ts [--write | AGENT[@VERSION] …]

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createServer } from "node:net";
import { until } from "../helpers/until.ts";
import { type Agent, AGENTS, LIBRARIES } from "./agents.ts";
import { type Result, resultTable, writeBlock } from "./document.ts";
import { type Installed, installAgent, installLibraries } from "./install.ts";
import { type Recorded, type Recorder, startRecorder } from "./recorder.ts";
import { redacted } from "./redact.ts";

const ROOT = new URL("../..", import.meta.url).pathname;
const FIXTURES = join(ROOT, "test/fixtures/wire");
const CACHE = process.env["SVC_CLIENTS_CACHE"] ?? join(homedir(), ".cache/svc-clients");
const BINARY = process.env["SVC_BINARY"] ?? join(ROOT, "svc");
const WRITES = process.argv.includes("--write");
/** Longest run of one client, milliseconds. */
const RUN_MS = 180_000;

const PROMPT = "Run this command: cat note.txt";
/** What the command prints and the answer must hold; nothing else says it. */
const NOTE = "391";

/** Environment of a client: a home of its own, nothing of the user's keys. */
function environment(home: string, more: Readonly<Record<string, string>> = {}): Record<string, string> {
  const { PATH = "", TERM = "dumb" } = process.env;
  return { PATH, TERM, HOME: home, NO_COLOR: "1", ...more };
}

interface Server {
  readonly root: string;
  stop(): Promise<void>;
}

/** ./svc as docs/clients.md starts it, with the built-in model under a template that lets it act for agents. */
async function startServer(): Promise<Server> {
  const port = await freePort();
  const template = join(ROOT, "test/clients/act.jinja");
  const args = ["serve", "--host", "127.0.0.1", "--port", String(port), "--compat", "clients"];
  const more = ["--alias", "claude-*=default", "--chat-template", template, "--seed", "1", "--no-ui"];
  const child = Bun.spawn([BINARY, ...args, ...more], { stdout: "ignore", stderr: "ignore" });
  const root = `http://127.0.0.1:${port}`;
  await until("the model is loaded", async () => {
    if (child.exitCode !== null) throw new Error(`svc ended with ${child.exitCode}`);
    const answer = await fetch(`${root}/v1/models`).catch(() => undefined);
    return (
      ((await answer?.json()) as { data: { status: string }[] } | undefined)?.data[0]?.status === "loaded"
    );
  });
  return {
    root,
    stop: async () => {
      child.kill();
      await child.exited;
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (typeof address !== "object" || address === null) throw new Error("no port");
  return address.port;
}

interface Ended {
  readonly output: string;
  readonly code: number;
}

async function run(command: readonly string[], cwd: string, env: Record<string, string>): Promise<Ended> {
  const child = Bun.spawn([...command], {
    cwd,
    env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: RUN_MS,
  });
  const [out, errors, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { output: `${out}\n${errors}`, code };
}

/** Points an agent at the server as the documentation does, and lets it work. */
async function runAgent(agent: Agent, folder: string, root: string): Promise<Ended> {
  const home = mkdtempSync(join(tmpdir(), "svc-clients-"));
  const project = join(home, "project");
  mkdirSync(project);
  writeFileSync(join(project, "note.txt"), `${NOTE}\n`);
  try {
    const { file, text } = agent.configure({ root });
    const variables = file === "environment" ? exportsOf(text) : {};
    if (file !== "environment") {
      const path = join(file.in === "home" ? home : project, file.path);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    }
    const command = [join(folder, "node_modules", agent.executable), ...agent.args(PROMPT, home)];
    return await run(command, project, environment(home, { ...variables, ...agent.environment }));
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** The variables that a shell script exports. */
function exportsOf(script: string): Record<string, string> {
  return Object.fromEntries(
    [...script.matchAll(/\b([A-Z_]+)=(\S+)/g)].map(([, name = "", value = ""]) => [name, value]),
  );
}

/** Why a run was not the loop that was asked for; undefined when it was. */
function fault({ output, code }: Ended, recorded: readonly Recorded[]): string | undefined {
  const refused = recorded.find(({ path, status }) => status >= 400 && path.startsWith("/v1/"));
  if (refused !== undefined) return `${refused.method} ${refused.path} was answered with ${refused.status}`;
  if (code !== 0)
    return `it ended with exit code ${code}: ${output.trim().split("\n").at(-1)?.slice(0, 160)}`;
  if (!output.includes(NOTE) && !isChecked(output)) return "what the tool said is not in its answer";
  const isBack = recorded.some(({ body }) => JSON.stringify(body).includes(NOTE));
  return isBack || isChecked(output) ? undefined : "no request brought the tool's result";
}

/** Whether a library's script has held its answers to what they must be. */
function isChecked(output: string): boolean {
  return output.includes("OK: ");
}

/** What a client sent to each path, redacted. Of an agent the last body of a path holds the whole loop. */
function writeFixture(name: string, recorded: readonly Recorded[], all: boolean): void {
  const posts = recorded.filter(({ method, path }) => method === "POST" && path !== "/v1/files");
  const last = new Map(posts.map((one) => [one.path, one]));
  const kept = all ? posts : [...last.values()];
  mkdirSync(FIXTURES, { recursive: true });
  const requests = kept.map(({ path, body }) => ({ path, body: redacted(body) }));
  writeFileSync(join(FIXTURES, `${name}.json`), `${JSON.stringify(requests, null, 1)}\n`);
}

type Attempt = () => Promise<Ended>;

async function result(
  client: Pick<Result, "client" | "version" | "what">,
  installed: Installed,
  recorder: Recorder,
  attempt: Attempt,
): Promise<Result> {
  if ("skipped" in installed) return { ...client, outcome: `skipped: ${installed.skipped}` };
  recorder.take();
  const ended = await attempt();
  const recorded = recorder.take();
  const why = fault(ended, recorded);
  if (why === undefined && WRITES) {
    writeFixture(client.client.toLowerCase().replaceAll(" ", "-"), recorded, isChecked(ended.output));
  }
  if (why !== undefined) console.error(`${client.client}: ${why}\n${ended.output.slice(-2000)}`);
  const what = /OK: (.*)/.exec(ended.output)?.[1] ?? client.what;
  return { ...client, what, outcome: why === undefined ? "passed" : `failed: ${why}` };
}

/** The agents that the words of the command line name, all of them if none does. Throws for unknown ones. */
function chosenAgents(words: readonly string[]): readonly Agent[] {
  if (words.length === 0) return AGENTS;
  return words.map((word) => {
    const [name, version] = word.split("@");
    const agent = AGENTS.find((one) => one.name === name);
    if (agent === undefined) throw new Error(`no agent is called ${name}`);
    return { ...agent, version: version ?? agent.version };
  });
}

async function main(): Promise<number> {
  const words = process.argv.slice(2).filter((word) => !word.startsWith("-"));
  const server = await startServer();
  const recorder = startRecorder(server.root);
  const results: Result[] = [];
  const report = (one: Result): void => {
    results.push(one);
    console.log(`${one.client} ${one.version}: ${one.outcome}`);
  };
  try {
    for (const agent of chosenAgents(words)) {
      const installed = await installAgent(agent, CACHE);
      const client = { client: agent.name, version: agent.version, what: `${agent.speaks}: a shell command` };
      const folder = "folder" in installed ? installed.folder : "";
      report(await result(client, installed, recorder, () => runAgent(agent, folder, recorder.root)));
    }
    const python = words.length > 0 ? { skipped: "not asked for" } : await installLibraries(CACHE);
    const folder = "folder" in python ? python.folder : "";
    for (const [name, version] of words.length > 0 ? [] : LIBRARIES) {
      const command = [join(folder, "bin/python"), join(ROOT, "test/clients/python/loop.py"), name];
      const attempt = () => run([...command, `${recorder.root}/v1`], CACHE, environment(CACHE));
      report(await result({ client: name, version, what: "a tool loop" }, python, recorder, attempt));
    }
  } finally {
    await recorder.stop();
    await server.stop();
  }
  console.log(`\n${resultTable(results)}`);
  if (WRITES) {
    await run([join(ROOT, "node_modules/.bin/oxfmt"), FIXTURES], ROOT, environment(CACHE));
    const page = join(ROOT, "docs/clients.md");
    writeFileSync(page, writeBlock(readFileSync(page, "utf8"), "results", resultTable(results)));
  }
  return results.some(({ outcome }) => outcome.startsWith("failed")) ? 1 : 0;
}

process.exitCode = await main();
