// The process with the devices of `svc rpc-worker`: started for the first client, and again after it has died.

import { connect, createServer } from "node:net";
import { DEVICES_MS, DEVICES_POLL_MS } from "./limits.ts";

export interface DeviceProcessOptions {
  /** Command that serves the devices on an endpoint, host:port. */
  readonly words: (endpoint: string) => readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export class DeviceProcess {
  private readonly options: DeviceProcessOptions;
  private running: Promise<number> | undefined;
  private child: ReturnType<typeof Bun.spawn> | undefined;

  constructor(options: DeviceProcessOptions) {
    this.options = options;
  }

  /** Its port on 127.0.0.1, once it listens there. Rejects when it does not start. */
  port(): Promise<number> {
    return (this.running ??= this.start());
  }

  stop(): void {
    this.child?.kill("SIGKILL");
  }

  private async start(): Promise<number> {
    const port = await freePort();
    const child = Bun.spawn([...this.options.words(`127.0.0.1:${port}`)], {
      stdio: ["ignore", "ignore", "inherit", "pipe"], // the last one: core/parent-pipe.ts
      env: this.options.environment,
      onExit: () => (this.running = undefined),
    });
    this.child = child;
    const deadline = performance.now() + DEVICES_MS;
    while (child.exitCode === null && performance.now() < deadline) {
      if (await accepts(port)) return port;
      await Bun.sleep(DEVICES_POLL_MS); // llama.cpp reports its listening to nothing but its output
    }
    child.kill("SIGKILL");
    throw new Error("the process with the devices did not start");
  }
}

/** llama.cpp's server takes no port 0. */
function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(address !== null && typeof address === "object" ? address.port : 0));
    });
  });
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
