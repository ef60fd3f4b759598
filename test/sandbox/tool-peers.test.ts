// Connections of tools are told from others, on a machine where no guard keeps tools from the server's port.

import { expect } from "bun:test";
import { networkInterfaces } from "node:os";
import { runToEnd } from "../../src/exec/run-to-end.ts";
import { HAS_PYTHON, PYTHON, sandboxWith, testIf, TIMEOUT_SECS } from "../helpers/real-executors.ts";

const linuxTest = testIf(HAS_PYTHON && process.platform === "linux", "peers: need Linux and python3");

/** Sends a request and reads the answer, or ends at once. */
const REQUEST = `
import os, socket, sys
host, port, waits = sys.argv[1:]
link = socket.create_connection((host, int(port)))
link.sendall(b"GET / HTTP/1.1\\r\\nhost: x\\r\\nconnection: close\\r\\n\\r\\n")
if waits == "no": os._exit(0)
print(link.recv(65536).decode().splitlines()[-1])`;

linuxTest.each(["launcher", "bubblewrap"] as const)("%s", async (mechanism) => {
  const sandbox = await sandboxWith({ network: "full" }, { mechanisms: [mechanism], guard: false });
  const { isToolPeer, effective } = sandbox;
  if (effective.mechanism !== mechanism) return console.warn(`SKIPPED: no ${mechanism} here`);
  expect(effective.reachesMachine).toBe(true);
  expect(effective.warnings.join(" ")).toContain("tools can reach its services");
  if (isToolPeer === undefined) throw new Error("peers can be told here");
  const verdicts: boolean[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "0.0.0.0",
    fetch: (request, connections) => {
      const peer = connections.requestIP(request) ?? { address: "127.0.0.1", port: 0 };
      verdicts.push(isToolPeer(peer, connections.port ?? 0));
      return new Response(String(verdicts.at(-1)));
    },
  });
  const workdir = sandbox.newWorkdir("test");
  const run = async (host: string, waits: "yes" | "no") => {
    const argv = [PYTHON, "-c", REQUEST, host, String(server.port), waits];
    return (await runToEnd(sandbox.spawn({ argv, workdir }), TIMEOUT_SECS * 1000)).stdout;
  };
  const own = async () => (await fetch(`http://127.0.0.1:${server.port}`)).text();
  const lan = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  const address = lan.find(({ family, internal }) => family === "IPv4" && !internal)?.address ?? "127.0.0.1";
  try {
    expect(await own()).toBe("false");
    expect(await run("127.0.0.1", "yes")).toBe("true\n");
    expect(await run(address, "yes")).toBe("true\n");
    await run("127.0.0.1", "no");
    expect(verdicts.slice(3)).not.toContain(false);
    expect(await own()).toBe("false");
  } finally {
    await server.stop(true);
    await sandbox.removeWorkdir(workdir);
  }
});
