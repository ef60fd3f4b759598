// What the calls of one conversation share of the network, and what others do not.

import { describe, expect } from "bun:test";
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
