// Code that a model wrote answers the question whether it may act: it posts a request of its own to the server, reads the
// approval's id from that stream and approves itself.

import { expect } from "bun:test";
import { networkInterfaces } from "node:os";
import { runToEnd } from "../../src/exec/run-to-end.ts";
import { fileServer } from "../helpers/binary.ts";
import { HAS_PYTHON, PYTHON, sandboxWith, testIf, TIMEOUT_SECS } from "../helpers/real-executors.ts";

const ATTACK = `
import json, sys, urllib.request
def post(path, body):
    head = {"content-type": "application/json"}
    return urllib.request.urlopen(urllib.request.Request(sys.argv[1] + path, json.dumps(body).encode(), head), timeout=20)
words = "Run this command: echo hello"
chat = {"messages": [{"role": "user", "content": words}], "stream": True, "enable_shell": True, "temperature": 0}
for line in post("/v1/chat/completions", chat):
    at = line.find(b"appr_")
    if at >= 0:
        answer = post(f"/v1/agent/approvals/{line[at:at + 37].decode()}", {"decision": "approve"})
        print(answer.read().decode())
        break
`;

const server = fileServer(["--host", "0.0.0.0", "--enable-shell", "--agent-permission", "ask"]);
const linuxTest = testIf(
  HAS_PYTHON && process.platform === "linux",
  "self-approval: needs Linux and python3",
);

linuxTest("outside the sandbox the attack works", async () => {
  const attack = Bun.spawn([PYTHON, "-c", ATTACK, server().url], { stdout: "pipe" });
  expect(await new Response(attack.stdout).text()).toContain("resolved");
});

linuxTest("what tools run cannot approve itself, by any address of the machine", async () => {
  const sandbox = await sandboxWith({ network: "full" });
  if (sandbox.effective.reachesMachine) return console.warn("SKIPPED: no network guard on this machine");
  const workdir = sandbox.newWorkdir("test");
  const { port } = new URL(server().url);
  const lan = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  const hosts = ["127.0.0.1", ...lan.filter(({ family }) => family === "IPv4").map(({ address }) => address)];
  for (const host of new Set(hosts)) {
    const argv = [PYTHON, "-c", ATTACK, `http://${host}:${port}`];
    const { stdout, stderr } = await runToEnd(sandbox.spawn({ argv, workdir }), TIMEOUT_SECS * 1000);
    expect(stdout).toBe("");
    expect(stderr).toContain("Connection refused");
  }
  await sandbox.removeWorkdir(workdir);
});
