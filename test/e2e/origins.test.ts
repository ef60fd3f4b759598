// A server whose models can act is not at the service of every web page that somebody looks at.

import { describe, expect, test } from "bun:test";
import { type Server, startServer } from "../helpers/binary.ts";
import { ask, CAPITAL } from "../helpers/chat-client.ts";

const TOOLS = Bun.which("sh") === null ? [] : ["--enable-shell"];
const WARNING = "every client that reaches this port can run tools on this machine";

async function fromPage(server: Server, origin: string): Promise<number> {
  const headers = { "content-type": "text/plain", origin }; // what needs no preflight
  const body = JSON.stringify(ask(CAPITAL));
  const response = await fetch(`${server.url}/v1/chat/completions`, { method: "POST", headers, body });
  await response.text();
  return response.status;
}

describe.skipIf(TOOLS.length === 0)("with a shell", () => {
  test("foreign pages are refused, those of this machine are not, and the log tells of an open port", async () => {
    const server = await startServer([...TOOLS, "--host", "0.0.0.0"]);
    expect(await fromPage(server, "https://evil.example")).toBe(403);
    expect(await fromPage(server, server.url)).toBe(415); // it got as far as the body's type
    expect(await fromPage(server, "http://localhost:3000")).toBe(403); // something that a model started may listen there
    expect(server.stderr()).toContain(WARNING);
  });

  test("a key, or the operator's word, opens it again", async () => {
    const withKey = await startServer([...TOOLS, "--host", "0.0.0.0"], { env: { SVC_API_KEYS: "key" } });
    expect(await fromPage(withKey, "https://evil.example")).toBe(401);
    expect(withKey.stderr()).not.toContain(WARNING);
    const named = await startServer([...TOOLS, "--allowed-origins", "https://app.example"]);
    expect(await fromPage(named, "https://app.example")).toBe(415);
    expect(await fromPage(named, "https://evil.example")).toBe(403);
    expect(named.stderr()).not.toContain(WARNING);
  });
});

test("without tools any page may use it", async () => {
  const server = await startServer();
  expect(await fromPage(server, "https://app.example")).toBe(415);
});

test("without a key a name that strangers can point here is refused, and one that the operator names is not", async () => {
  const asked = async (server: Server, host: string): Promise<readonly unknown[]> => {
    const response = await fetch(`${server.url}/v1/models`, { headers: { host } });
    const body = (await response.json()) as { error?: { code: string } };
    return [response.status, body.error?.code];
  };
  const server = await startServer(["--allowed-hosts", "svc.example.org"]);
  expect(await asked(server, "evil.example:1234")).toEqual([421, "host_not_allowed"]);
  for (const host of ["svc.example.org", "localhost:1234", "192.168.1.5", "svc", "nas.local"]) {
    expect(await asked(server, host)).toEqual([200, undefined]);
  }
  const { status } = await fetch(`${server.url}/health`, { headers: { host: "evil.example" } });
  expect(status).toBe(200);
  const unload = await fetch(`${server.url}/v1/models/unload`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: "https://evil.example" },
    body: JSON.stringify({ model_id: "default" }),
  });
  expect(unload.status).toBe(403);
});
