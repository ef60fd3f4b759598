// Processes of tools that are killed or hang while models use them: the answer says so and goes on, the next call works.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileServer, newFolder, type Server, startServer } from "../helpers/binary.ts";
import { startCodeServer } from "../helpers/code-server.ts";
import { expectServes } from "../helpers/faults.ts";
import { randomOf, seedOfRun } from "../helpers/seed.ts";
import { demoProcess } from "../helpers/mcp.ts";
import { postJson } from "../helpers/post.ts";
import { descendantsOf, isAlive, wordsOf } from "../helpers/processes.ts";
import { describeWith } from "../helpers/programs.ts";
import { until, within } from "../helpers/until.ts";

const GREEDY = { temperature: 0, max_tokens: 200, enable_thinking: false };
const ask = (content: string, extra: object) => ({
  ...GREEDY,
  messages: [{ role: "user", content }],
  ...extra,
});

async function chat(server: Server, body: object) {
  const response = await postJson(`${server.url}/v1/chat/completions`, body);
  const answer = await response.json();
  expect(response.status, JSON.stringify(answer)).toBe(200);
  return answer;
}

/** Processes under the server whose command line holds these words. */
const running = (server: Server, words: string): readonly number[] =>
  descendantsOf(server.pid).filter((pid) => wordsOf(pid).join(" ").includes(words));

describeWith("python3")("Python with two keys", () => {
  test.skipIf(process.env["SVC_SLOW_TESTS"] !== "1")(
    "a named session keeps variables and files while another key asks 66 times without a session",
    async () => {
      const { server, run } = await startCodeServer(["--api-keys", "alice,bob"]);
      const key = (name: string) => ({ authorization: `Bearer ${name}` });
      const work = { session_id: "work" };
      await run("x = 1\nopen('a.csv', 'w').write('1')", work, key("alice"));
      for (let one = 0; one < 66; one++)
        expect(await run(`print(${one})`, {}, key("bob"))).toContain(String(one));
      expect(await run("print(x, open('a.csv').read())", work, key("alice"))).toContain("1 1");
      expect(running(server, "interpreter").length).toBeLessThanOrEqual(64 * 4); // each below its confinement
    },
    180_000,
  );
});

describeWith("python3")("Python", () => {
  const server = fileServer(["--enable-code-execution"]);
  const session = { tools: [{ type: "code_interpreter" }], session_id: "hit" };
  const SLEEP = ask("Run this python code: import time\ntime.sleep(60)", session);
  const COMPUTE = ask("Use python to compute 17*23.", session);

  test("kill -9 of the interpreter in mid-call: the model is told, the next call has a fresh one", async () => {
    await chat(server(), COMPUTE);
    for (const signal of ["SIGKILL", "SIGSEGV"] as const) {
      const interpreters = running(server(), "interpreter");
      expect(interpreters.length).toBeGreaterThan(0);
      let isOver = false;
      const answer = chat(server(), SLEEP).finally(() => (isOver = true));
      // Seen from outside an interpreter that sleeps in a call looks like an idle one, so each that turns up is killed, one
      // that is just starting, too.
      await until("the answer ends", () => {
        for (const pid of running(server(), "interpreter")) if (isAlive(pid)) process.kill(pid, signal);
        return isOver;
      });
      const { agentic_tool_calls: calls } = await answer;
      expect(calls).toHaveLength(1);
      expect(calls[0].result_content).toMatch(/ended|killed|signal|exit/i);
      expect((await chat(server(), COMPUTE)).choices[0].message.content).toBe("The result is: 391");
    }
    await expectServes(server());
  });
});

describeWith("sh")("the shell", () => {
  test("kill -9 of everything that a call has started: the model is told, the next call works", async () => {
    const server = await startServer(["--enable-shell"]);
    const shell = { enable_shell: true, session_id: "hit" };
    await chat(server, ask("Run this command: echo hello", shell));
    const answer = chat(server, ask("Run this command: sleep 61", shell));
    await until("it sleeps", () => running(server, "sleep 61").length > 0);
    for (const pid of running(server, "sleep 61").toReversed())
      if (isAlive(pid)) process.kill(pid, "SIGKILL");
    const { agentic_tool_calls: calls } = await within(20_000, "the answer ends", answer);
    expect(calls).toHaveLength(1);
    expect(running(server, "sleep 61")).toEqual([]);
    const next = await chat(server, ask("Run this command: echo hello", shell));
    expect(JSON.stringify(next.agentic_tool_calls)).toContain("hello");
    await expectServes(server);
  });
});

test("kill -9 of an MCP server at random moments: every answer is whole, and it is connected to again", async () => {
  const file = join(newFolder(), "mcp.json");
  const demo = { id: "demo", tool_prefix: "demo", source: demoProcess({ DEMO_ONLY: "echo" }) };
  writeFileSync(file, JSON.stringify({ servers: [demo] }));
  const server = await startServer(["--mcp-config", file, "--max-tool-rounds", "1"]);
  const body = { ...ask("Say hello to the tool", {}), tool_choice: "required" };
  await chat(server, body);
  const random = randomOf(seedOfRun());
  const results: string[] = [];
  const client = async (): Promise<void> => {
    for (let request = 0; request < 6; request++) {
      const response = await postJson(`${server.url}/v1/chat/completions`, body);
      // While the server is away its tools are not offered, and nothing can be required.
      const answer = await response.json();
      if (response.status === 400) expect(answer.error.param).toBe("tool_choice");
      else expect(response.status, JSON.stringify(answer)).toBe(200);
      results.push(JSON.stringify(answer));
    }
  };
  const clients = Promise.all([client(), client(), client()]);
  for (let kill = 0; kill < 4; kill++) {
    const answered = results.length + Math.floor(random() * 3);
    await until("some more is answered", () => results.length >= Math.min(answered, 18));
    for (const pid of running(server, "mcp-demo")) if (isAlive(pid)) process.kill(pid, "SIGKILL");
  }
  await within(60_000, "all are answered", clients);
  expect(results).toHaveLength(18);
  await until("its tool works again", async () => {
    const response = await postJson(`${server.url}/v1/chat/completions`, body);
    const answer = await response.json();
    return response.status === 200 && answer.agentic_tool_calls?.[0]?.name === "demo_echo";
  });
  expect(server.stderr()).toContain("demo");
}, 120_000);
