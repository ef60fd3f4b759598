// Every address of a port is the server's: browsers take localhost for either of two.

import { afterAll, describe, expect, test } from "bun:test";
import { createServer, type Server } from "node:net";
import { networkInterfaces } from "node:os";
import { endsWithin, listenAll, type Listeners } from "../../src/app/listen.ts";
import type { Settings } from "../../src/config/settings.ts";
import { testDeps } from "../helpers/app.ts";
import { answer, playing } from "../helpers/run-events.ts";

const hasIpv6 = Object.values(networkInterfaces()).some((all) =>
  all?.some(({ address }) => address === "::1"),
);

const open: Listeners[] = [];
const foreign: Server[] = [];
afterAll(async () => {
  const all = open.flatMap(({ server, mcpServer, ollamaServer }) => [server, mcpServer, ollamaServer]);
  for (const one of all) await one?.stop(true);
  for (const one of foreign) one.close();
});

const logged: string[] = [];
const deps = testDeps(playing(answer("Hi")).generate, { log: (line) => void logged.push(line) });

function start(server: Partial<Settings["server"]>): Listeners {
  const listeners = listenAll(deps, { server: { host: "127.0.0.1", port: 0, ...server } } as Settings);
  open.push(listeners);
  return listeners;
}

/** Another program listens; the code of the failure where it may not. */
function take(host: string, port: number, ipv6Only = false): Promise<string> {
  return new Promise((resolve) => {
    const one = createServer();
    one.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? "failed"));
    one.listen({ host, port, exclusive: true, ipv6Only }, () => {
      foreign.push(one);
      resolve(String((one.address() as { readonly port: number }).port));
    });
  });
}

describe.skipIf(!hasIpv6)("with IPv6", () => {
  test.each(["127.0.0.1", "::1", "localhost", "0.0.0.0", "::"])("%s is served under both", async (host) => {
    const { server, mcpServer } = start({ host, mcp_port: 0 });
    for (const at of ["127.0.0.1", "[::1]"]) {
      expect((await fetch(`http://${at}:${server.port}/health`)).status).toBe(200);
      expect((await fetch(`http://${at}:${mcpServer?.port}/mcp`)).status).toBe(405);
    }
    const ports = [server.port, mcpServer?.port ?? 0];
    for (const port of ports) {
      for (const at of ["127.0.0.1", "::1", "::", "0.0.0.0"]) expect(await take(at, port)).toBe("EADDRINUSE");
      expect(await take("::", port, true)).toBe("EADDRINUSE");
    }
  });

  test.each([
    ["127.0.0.1", "::1", "[::1]"],
    ["0.0.0.0", "::1", "[::]"],
    ["::1", "127.0.0.1", "127.0.0.1"],
  ])("%s is not served where another program has %s", async (host, other, named) => {
    const port = Number(await take(other, 0));
    expect(() => start({ host, port })).toThrow(
      `cannot listen on ${named}:${port}: it is in use by another program. Choose another with --port.`,
    );
    expect(await take(host, port, true)).toBe(String(port)); // what was open is closed again
  });

  test("the MCP endpoint is as strict, and Ollama's port is left out with a warning", async () => {
    const port = Number(await take("::1", 0));
    expect(() => start({ mcp_port: port })).toThrow("--mcp-port");
    logged.length = 0;
    expect(start({ ollama_port: port }).ollamaServer).toBeUndefined();
    expect(logged.join()).toContain(`cannot listen on [::1]:${port}`);
  });
});

test("a server that stops waits for what ends, and not for what never does", async () => {
  const lines: string[] = [];
  const say = (line: string) => void lines.push(line);
  await endsWithin(60_000, Promise.resolve(), say);
  expect(lines).toEqual([]);
  await endsWithin(1, new Promise(() => undefined), say);
  expect(lines.join()).toContain("not everything stopped in time");
  expect(endsWithin(60_000, Promise.reject(new Error("broken")), say)).rejects.toThrow("broken");
});
