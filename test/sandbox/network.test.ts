// What the calls of one conversation share of the network, and what others do not.

import { describe, expect } from "bun:test";
import { perform } from "../../ffi/linux/guard-calls.ts";
import { call, ERRNO, numberOf } from "../../ffi/linux/guard-system.ts";
import type { Target } from "../../ffi/linux/guard-target.ts";
import { until } from "../helpers/until.ts";
import {
  cell,
  closeExecutors,
  commands,
  HAS_PYTHON,
  NEVER,
  PYTHON,
  pythonWith,
  sandboxWith,
  shellWith,
  testIf,
} from "../helpers/real-executors.ts";

closeExecutors();

const SERVE = `
import socket, threading
server = socket.create_server(("127.0.0.1", 0))
def serve():
    while True:
        link, _ = server.accept()
        link.sendall(b"hello")
        link.close()
threading.Thread(target=serve, daemon=True).start()
print(server.getsockname()[1])`;
const ask = (port: string): string =>
  `${PYTHON} -c 'import socket; print(socket.create_connection(("localhost", ${port})).recv(9))'`;

const linuxTest = testIf(
  HAS_PYTHON && process.platform === "linux",
  "shared networks: need Linux and python3",
);

describe.each(["launcher", "bubblewrap"] as const)("%s", (mechanism) => {
  linuxTest.each(["loopback", "full"] as const)(
    "network %s: a server that one call has started is reached by the next one, and not by another session",
    async (network) => {
      const sandbox = await sandboxWith({ network }, { mechanisms: [mechanism] });
      const { effective } = sandbox;
      if (effective.mechanism !== mechanism || effective.network !== network) {
        return console.warn(`SKIPPED: ${mechanism} with network ${network}: ${effective.warnings.join(" ")}`);
      }
      const python = await pythonWith({ sandbox });
      const shell = await shellWith({ sandbox });
      const serve = `${PYTHON} -uc '${SERVE}\nthreading.Event().wait()' >port &`;
      await shell.run(commands([serve, "until [ -s port ]; do sleep 0.05; done"]), NEVER);
      const ownPort = (await shell.run(commands(["cat port"]), NEVER)).stdout.trim();
      const next = await shell.run(commands([ask(ownPort)]), NEVER);
      expect(next).toMatchObject({ stdout: "b'hello'\n", exitCode: 0 });
      const { stdout } = await python.run(cell(SERVE), NEVER);
      const port = stdout.trim();
      const again = await python.run(
        cell(`import socket\nprint(socket.create_connection(("127.0.0.1", ${port})).recv(9))`),
        NEVER,
      );
      expect(again.stdout).toBe("b'hello'\n");
      const own = await shell.run(commands([ask(port)]), NEVER);
      expect(own).toMatchObject({ stdout: "b'hello'\n", exitCode: 0 });
      const others = await shell.run(commands([ask(port)], { sessionId: "other" }), NEVER);
      expect(others.stdout).toBe("");
      expect(others.stderr).toMatch(/Connection refused|Permission denied/);
    },
  );
});

const run = (...words: readonly string[]) => Bun.spawnSync([...words], { stderr: "pipe" });
const OTHER = `svc-test-${process.pid}`;
const canAddMachine = () => {
  const isAdded =
    run("ip", "netns", "add", OTHER).success &&
    run("ip", "link", "add", "svc6", "type", "veth", "peer", "name", "eth6", "netns", OTHER).success;
  run("ip", "netns", "delete", OTHER);
  return isAdded;
};
const hasNetworks = HAS_PYTHON && Bun.which("ip") !== null && canAddMachine();

testIf(hasNetworks, "another machine: needs python3, ip of iproute2 and the right to add network namespaces")(
  "network full: a server of a session answers this machine and not another one",
  async () => {
    const sandbox = await sandboxWith({ network: "full" });
    if (sandbox.effective.reachesMachine) return console.warn("SKIPPED: another machine: no network guard");
    const shell = await shellWith({ sandbox });
    const at = (address: string, port: string): readonly string[] => {
      const connect = `import socket; print(socket.create_connection(("${address}", ${port}), 0.3).recv(9))`;
      return [PYTHON, "-c", connect];
    };
    try {
      const link = `type veth peer name eth7 netns ${OTHER}`;
      for (const command of [
        `netns add ${OTHER}`,
        `link add svc7 ${link}`,
        "addr add 198.18.77.1/30 dev svc7",
        "addr add fd77:7::1/64 dev svc7 nodad",
        "link set svc7 up",
        `-n ${OTHER} addr add 198.18.77.2/30 dev eth7`,
        `-n ${OTHER} addr add fd77:7::2/64 dev eth7 nodad`,
        `-n ${OTHER} link set eth7 up`,
      ])
        expect(run("ip", ...command.split(" ")).stderr.toString(), command).toBe("");
      const serve = SERVE.replace(
        '("127.0.0.1", 0)',
        '("::", 0), family=socket.AF_INET6, dualstack_ipv6=True',
      );
      await shell.run(commands([`${PYTHON} -uc '${serve}\nthreading.Event().wait()' >port &`]), NEVER);
      const ask = commands(["cat port"]);
      const port = await until("it serves", async () => (await shell.run(ask, NEVER)).stdout.trim() || false);
      for (const [loopback, address] of [
        ["127.0.0.1", "198.18.77.1"],
        ["::1", "fd77:7::1"],
      ] as const) {
        const here = Bun.spawnSync([...at(loopback, port)]);
        expect(here.stdout.toString(), loopback).toBe("b'hello'\n");
        const there = Bun.spawnSync(["ip", "netns", "exec", OTHER, ...at(address, port)], { stderr: "pipe" });
        expect(there.stderr.toString(), address).toEndWith("Connection refused\n");
      }
    } finally {
      run("ip", "netns", "delete", OTHER);
    }
  },
);

testIf(process.platform === "linux", "the guard's descriptors: need Linux")(
  "the guard closes its duplicate where the process is gone in the middle of a call",
  () => {
    const copies: number[] = [];
    const gone = {
      duplicate: () => {
        copies.push(call("socket", 2, 1, 0));
        return copies.at(-1);
      },
      memory: () => {
        throw new Error("the process is gone");
      },
    } as unknown as Target;
    for (const name of ["bind", "connect", "sendto", "sendmsg", "sendmmsg"] as const) {
      const wanted = { number: numberOf(name), args: [3, 4096, 16, 0, 4096, 16] };
      const policy = { session: "", keep: [], allowsUnixSockets: false };
      expect(() => perform(wanted, gone, policy, () => true)).toThrow("the process is gone");
    }
    expect(copies.map((fd) => call("fcntl", fd, 1, 0))).toEqual(copies.map(() => -ERRNO.EBADF));
  },
);
