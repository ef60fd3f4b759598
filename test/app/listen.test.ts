// Every address of a port is the server's: browsers take localhost for either of two.

import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, lstatSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { endsWithin, listenAll, type Listeners } from "../../src/app/listen.ts";
import { freeSocketFile } from "../../src/app/socket-file.ts";
import { openTools } from "../../src/app/tools.ts";
import { ServerClient } from "../../src/cli/server-client.ts";
import { loadSettings } from "../../src/config/resolve.ts";
import type { Settings } from "../../src/config/settings.ts";
import { assert } from "../../src/core/assert.ts";
import { connectionOf } from "../../src/http/connection.ts";
import { listen } from "../../src/http/server.ts";
import { localClients } from "../../src/net/local-client.ts";
import { testDeps } from "../helpers/app.ts";
import { describeWith } from "../helpers/programs.ts";
import { tempDir } from "../helpers/tmp.ts";
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
  const listeners = listenAll(deps, {
    server: { host: "127.0.0.1", port: 0, socket_mode: "0600", ...server },
  } as Settings);
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
  expect(await endsWithin(60_000, Promise.resolve())).toBe(true);
  expect(await endsWithin(1, new Promise(() => undefined))).toBe(false);
  expect(endsWithin(60_000, Promise.reject(new Error("broken")))).rejects.toThrow("broken");
});

describe("a UNIX socket", () => {
  const folder = tempDir();
  const path = join(folder, "svc.sock");
  const host = `unix:${path}`;
  const permissions = (): string => (lstatSync(path).mode & 0o777).toString(8);
  const client = new ServerClient({ host, port: 1234 } as Settings["server"]);

  test("has the configured permissions, serves the command line, and is removed at the end", async () => {
    const { server, ...others } = start({ host, socket_mode: "0660" });
    expect([permissions(), others]).toEqual(["660", {}]);
    expect((await client.models())[0]?.id).toBe("tiny");
    expect(await client.probe()).toHaveLength(1);
    expect(() => start({ host })).toThrow(`cannot listen on ${host}: another program has it.`);
    await freeSocketFile(host); // in use: it stays
    expect((await client.models())[0]?.id).toBe("tiny");
    await server.stop(true);
    expect(existsSync(path)).toBe(false);
    expect(client.models()).rejects.toThrow(`No server answers at ${host}.`);
  });

  test("what a killed server has left is replaced, another file is not", async () => {
    const left = `Bun.serve({ unix: ${JSON.stringify(path)}, fetch: () => new Response() }); process.kill(process.pid, 9);`;
    await Bun.spawn([process.execPath, "-e", left]).exited;
    expect(existsSync(path)).toBe(true);
    await freeSocketFile(host);
    const { server } = start({ host });
    expect(permissions()).toBe("600");
    await server.stop(true);
    writeFileSync(path, "kept");
    expect(freeSocketFile(host)).rejects.toThrow(
      "there is a file or folder of that name, which is no socket",
    );
    expect(readFileSync(path, "utf8")).toBe("kept");
    await freeSocketFile(`unix:${path}/below`);
    await freeSocketFile("127.0.0.1");
  });

  test.each([
    ["nowhere/svc.sock", "its folder does not exist"],
    ["a".repeat(120), "at most 107 bytes"],
  ])("a path that is refused with the reason %#", (name, reason) => {
    expect(() => start({ host: `unix:${join(folder, name)}` })).toThrow(reason);
  });

  test("a request counts as one from this machine, unless a proxy gives itself away", async () => {
    const peers: (string | undefined)[] = [];
    const isLocal = localClients([]);
    const socket = { path: join(folder, "local.sock"), mode: 0o600 };
    const app = {
      fetch: (request: Request) => {
        const peer = connectionOf(request)?.peer();
        peers.push(peer);
        return new Response(String(isLocal(peer, request.headers)));
      },
    };
    const server = listen(app, { hostname: "", port: 0, socket });
    const ask = async (headers = {}) =>
      (await fetch("http://localhost/", { unix: socket.path, headers })).text();
    expect([await ask(), await ask({ "x-forwarded-for": "192.0.2.1" })]).toEqual(["true", "false"]);
    expect(peers).toEqual(["127.0.0.1", "127.0.0.1"]);
    await server.stop(true);
  });
});

describeWith("bwrap")("tools and a socket", () => {
  test.each([
    ["/usr", {}, "/usr/svc.sock"],
    ["/srv", { shell_workdir: "/srv" }, "/srv/run/svc.sock"],
  ])("one in %s ends the start", async (shown, runtime, path) => {
    const loaded = loadSettings({ environment: {} });
    assert(loaded.ok, "defaults are valid");
    const { settings } = loaded;
    const given = {
      ...settings,
      server: { ...settings.server, host: `unix:${path}` },
      runtime: { ...settings.runtime, enable_shell: true, ...runtime },
    };
    expect(openTools(given, () => {})).rejects.toThrow(`server.host: tools of models can read ${shown}`);
  });
});
