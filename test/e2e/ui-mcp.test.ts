// MCP servers that the web interface adds, through the compiled executable.

import { expect, test } from "bun:test";
import { join } from "node:path";
import { fileServer, launchServer, newFolder } from "../helpers/binary.ts";
import { postChat } from "../helpers/chat-client.ts";
import { httpDemo } from "../helpers/mcp.ts";
import { until } from "../helpers/until.ts";

const PAGE = { "content-type": "application/json", "x-svc-page": "1" };
const BODY = {
  messages: [{ role: "user", content: "Say hello to the tool" }],
  tool_choice: "required",
  max_tool_rounds: 1,
  max_tokens: 200,
  temperature: 0,
  stream: true,
};

const add = (url: string, server: object): Promise<Response> =>
  fetch(`${url}/ui/mcp`, { method: "POST", headers: PAGE, body: JSON.stringify(server) });

async function chat(url: string, run: string, off: readonly string[]): Promise<Response> {
  const headers = {
    "content-type": "application/json",
    "x-svc-run": run,
    "x-svc-mcp-off": encodeURIComponent(JSON.stringify(off)),
  };
  return postChat(url, BODY, { headers });
}

const plain = fileServer();

test("a model calls a tool of an added server, also after a restart, and not where it is off", async () => {
  const demo = httpDemo({ only: ["echo"] });
  const state = `sqlite:${join(newFolder(), "state.db")}`;
  const args = ["--ui-mcp", "--ui-mcp-private", "--state", state, "--agent-permission", "ask"];
  const first = await launchServer(args);
  const { id } = await (await add(first.url, { name: "wiki", url: demo.url })).json();
  await first.stop();
  const second = await launchServer(args);
  try {
    const running = await chat(second.url, "asks-for-approval", []);
    const reader = running.body?.getReader();
    let text = "";
    await until("the approval is asked for", async () => {
      text += new TextDecoder().decode((await reader?.read())?.value);
      return text.includes("agentic_tool_approval_required");
    });
    const [, approval] = /"approval_id":"([^"]+)"/.exec(text) ?? [];
    expect(text).toContain(`the arguments are sent to ${new URL(demo.url).host}`);
    await fetch(`${second.url}/v1/agent/approvals/${approval}`, {
      method: "POST",
      headers: PAGE,
      body: JSON.stringify({ decision: "approve" }),
    });
    await until("the tool has answered", async () => {
      text += new TextDecoder().decode((await reader?.read())?.value);
      return text.includes('"phase":"complete"');
    });
    expect(text).toContain("wiki_echo");
    const without = await chat(second.url, "has-no-tool-left", [id]);
    expect([without.status, (await without.json()).error.param]).toEqual([400, "tool_choice"]);
    const other = await postChat(second.url, { ...BODY, stream: false });
    expect(other.status).toBe(400); // other clients have no tools of the page
  } finally {
    await second.stop();
  }
});

test("addresses of private networks are refused unless the settings permit them; by default none can be added", async () => {
  const { url } = httpDemo();
  const refused = await add(plain().url, { name: "wiki", url });
  expect([refused.status, (await refused.json()).error.code]).toEqual([400, "capability_disabled"]);
  const server = await launchServer(["--ui-mcp"]);
  try {
    expect((await add(server.url, { name: "wiki", url })).status).toBe(201);
    const problem = await until("the first attempt has ended", async () => {
      const { servers } = await (await fetch(`${server.url}/ui/mcp`, { headers: PAGE })).json();
      return servers[0].problem as string | undefined;
    });
    expect(problem).toContain("only public addresses are permitted");
  } finally {
    await server.stop();
  }
});
