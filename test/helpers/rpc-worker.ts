// `svc rpc-worker` for tests: its devices are the CPU.

import { onTestFinished } from "bun:test";
import { spawnBinary } from "./binary.ts";

/** Holds the token of workers and of the servers that use them. */
export const WORKER_ENV = { SVC_TEST_TOKEN: "between machines" };

/** Starts a worker for one test; returns its port. */
export async function startRpcWorker(
  port = 0,
): Promise<{ readonly port: number; readonly kill: () => Promise<unknown> }> {
  const words = ["--listen", `127.0.0.1:${port}`, "--token-source", "env:SVC_TEST_TOKEN", "--threads", "1"];
  const child = spawnBinary(["rpc-worker", ...words], { env: WORKER_ENV });
  onTestFinished(() => child.kill("SIGKILL"));
  const kill = (): Promise<unknown> => {
    child.kill("SIGKILL");
    return child.exited;
  };
  let heard = "";
  for await (const piece of child.stderr) {
    heard += new TextDecoder().decode(piece);
    const found = /127\.0\.0\.1:(\d+)\. Press/.exec(heard);
    if (found !== null) return { port: Number(found[1]), kill };
  }
  throw new Error(`the worker did not start: ${heard}`);
}
