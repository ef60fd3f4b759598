// The client that the official MCP conformance suite drives: svc's own connections and sign-ins, with a person who agrees to
// everything. The suite names its server in the last argument, and the scenario in the environment.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defined } from "../../src/core/defined.ts";
import type { OAuthClient } from "../../src/core/mcp-config.ts";
import { logIn } from "../../src/mcp/login.ts";
import { McpServers } from "../../src/mcp/servers.ts";
import { SignIns } from "../../src/mcp/sign-in.ts";
import type { McpTool } from "../../src/mcp/types.ts";

/** Sign-ins of one scenario: the first, and those with more scopes. */
const SIGN_INS_MAX = 3;
const DOCUMENT = "https://conformance-test.local/client-metadata.json";

const url = process.argv.at(-1) ?? "";
const scenario = process.env["MCP_CONFORMANCE_SCENARIO"] ?? "";
const context = JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}") as OAuthClient;
const folder = mkdtempSync(join(tmpdir(), "svc-conformance-"));
const signIns = new SignIns(folder);
const { signal } = new AbortController();

async function signIn(): Promise<void> {
  const { client_id, client_secret } = context;
  const client =
    scenario === "auth/basic-cimd"
      ? { client_metadata_url: DOCUMENT }
      : { ...defined({ client_id, client_secret }) };
  const show = (page: string): void => void fetch(page);
  await logIn(url, { signIns, show, copied: () => Promise.withResolvers<string>().promise, client, signal });
}

/** Arguments that the scenarios' tools take. */
function argumentsOf({ parameters }: McpTool): Record<string, unknown> {
  const properties = Object.entries(parameters["properties"] ?? {}) as [string, { readonly type?: string }][];
  return Object.fromEntries(
    properties.map(([name, { type }], index) => [name, type === "number" ? index + 2 : "x"]),
  );
}

/** Connects and calls every tool once; false where the server wants a sign-in first. */
async function visit(): Promise<boolean> {
  const servers = new McpServers(
    {
      servers: [{ id: "suite", label: "suite", source: { type: "Http", url } }],
      registersTools: true,
      toolTimeoutMs: 15_000,
      callsMax: 1,
    },
    { environment: {}, log: (line) => console.error(line), signIns },
  );
  try {
    await servers.tried();
    const [state] = servers.states();
    if (state?.needsToken === true) return false;
    for (const tool of servers.tools()) {
      const { isError, parts } = await tool.call(argumentsOf(tool), signal);
      const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
      if (isError && text.includes("svc mcp login")) return false;
    }
    return true;
  } finally {
    await servers.close();
  }
}

try {
  for (let count = 0; count < SIGN_INS_MAX; count++) {
    if (await visit()) break;
    await signIn();
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exit(0);
