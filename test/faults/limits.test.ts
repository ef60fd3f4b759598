// What the system gives runs out: open files, memory of a container, connections; and helpers of a server that is gone. Minutes:
// npm run test:faults.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { defined } from "../../src/core/defined.ts";
import { launchServer, newFolder, runBinary, type Server, startServer } from "../helpers/binary.ts";
import { ask, CAPITAL, ENDLESS, FIRST_TEXT, openStream, postChat } from "../helpers/chat-client.ts";
import { errorOf, expectServes, openFiles } from "../helpers/faults.ts";
import { randomOf, seedOfRun } from "../helpers/seed.ts";
import { descendantsOf, isAlive } from "../helpers/processes.ts";
import { until } from "../helpers/until.ts";

const isSlow = process.env["SVC_SLOW_TESTS"] === "1";
if (!isSlow) console.warn("SKIPPED: limits of the system: npm run test:faults");

const MIB = 2 ** 20;

function rssMib(pid: number): number {
  const kib = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(kib) / 1024;
}

/** Connections that send nothing. */
function idle({ url }: Server, count: number, hosts = ["127.0.0.1"]): readonly Socket[] {
  return Array.from({ length: count }, (_, index) => {
    const socket = connect(Number(new URL(url).port), hosts[index % hosts.length]);
    socket.on("error", () => {}); // refused or cut: that is what some of these are for
    return socket;
  });
}

describe.if(isSlow)("engines and helpers of a server that is gone", () => {
  const delays = [0, 5, 10, 20, 40, 80, 120, 160, 240, 320, 480, 800];
  test.each(["SIGKILL", "SIGTERM"] as const)("end, whatever they were loading: %s", async (signal) => {
    for (const delay of delays) {
      const server = await launchServer();
      const helpers = await until("an engine is there", () => {
        const pids = descendantsOf(server.pid);
        return pids.length > 0 && pids;
      });
      await Bun.sleep(delay);
      const all = [...new Set([...helpers, ...descendantsOf(server.pid)])];
      server.kill(signal);
      await server.exited;
      await until(`all have ended, ${delay} ms after the first began`, () => !all.some(isAlive), 5_000);
    }
  });
});

describe.if(isSlow)("a chat template that loops", () => {
  test("ends the start with a sentence, and no engine stays", async () => {
    const file = join(newFolder(), "loop.jinja");
    writeFileSync(
      file,
      "{%- for i in range(1000000000) -%}{%- for j in range(1000000000) -%}{%- endfor -%}{%- endfor -%}",
    );
    const { exit, err } = await runBinary(["serve", "--host", "127.0.0.1", "--port", "0", "-c", file]);
    expect({ exit, err }).toEqual({ exit: 1, err: expect.stringContaining("it probably loops") });
  });
});

describe.if(isSlow)("open files", () => {
  test("that run out keep nobody out for longer than idle connections last", async () => {
    const server = await startServer([], { before: "ulimit -n 160" });
    await server.says("Ready.");
    const sockets = idle(server, 400);
    const stream = postChat(server.url, ask(CAPITAL)); // waits in the kernel, or is refused
    await Bun.sleep(1_000);
    for (const socket of sockets) socket.destroy();
    expect([200, 503]).toContain((await stream).status);
    await expectServes(server);
    expect(server.stderr()).not.toContain("internal error");
  });

  test("that are nearly used up are an answer, not a silence", async () => {
    const server = await startServer([], { before: "ulimit -n 200" });
    await server.says("Ready.");
    const free = 190 - openFiles(server.pid);
    const sockets = idle(server, free);
    const refused = await until("it is too many", async () => {
      const response = await fetch(`${server.url}/v1/models`);
      return response.status === 503 && response;
    });
    expect(await errorOf(refused)).toMatchObject({ code: "too_many_connections" });
    for (const socket of sockets) socket.destroy();
    await until("there is room", async () => (await fetch(`${server.url}/v1/models`)).ok);
    await expectServes(server);
  });
});

describe.if(isSlow)("idle connections", () => {
  const files = Number(/^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1]);
  const count = Math.min(100_000, Math.floor(files * 0.85));

  test(`${count} of them cost little, and the server answers beside them`, async () => {
    // From one address to another there are fewer ports than that.
    const hosts = Array.from({ length: 8 }, (_, index) => `127.0.0.${1 + index}`);
    const server = await startServer(["--max-connections", "200000", "--host", "0.0.0.0"]);
    await expectServes(server);
    const before = rssMib(server.pid);
    const open = openFiles(server.pid);
    const sockets: Socket[] = [];
    for (let left = count; left > 0; left -= 500) {
      const lot = idle(server, Math.min(500, left), hosts);
      sockets.push(...lot);
      const expected = open + Math.min(sockets.length, count) * 0.5; // the first may be closed by their time already
      await until("they are accepted", () => openFiles(server.pid) >= Math.min(expected, open + 1_000));
    }
    await expectServes(server);
    console.log(
      `${openFiles(server.pid) - open} idle connections: ${(rssMib(server.pid) - before).toFixed(0)} MiB`,
    );
    expect(rssMib(server.pid) - before).toBeLessThan(200);
    for (const socket of sockets) socket.destroy();
    await until("they are closed", () => openFiles(server.pid) <= open + 10);
    await expectServes(server);
  });
});

describe.if(isSlow)("requests", () => {
  test("20,000 of all kinds leave the memory as it was", async () => {
    const server = await startServer(["--queue-max", "8", "--max-seqs", "4"]);
    await expectServes(server);
    const random = randomOf(seedOfRun());
    const kinds = [
      () => postChat(server.url, ask(CAPITAL, { max_tokens: 1 })),
      () => postChat(server.url, ask(CAPITAL, { max_tokens: 1, stream: true })),
      () => postChat(server.url, { messages: 1 }),
      () => fetch(`${server.url}/v1/models`),
      () => fetch(`${server.url}/v1/files/file-none`),
      () => fetch(`${server.url}/metrics`),
      () => fetch(`${server.url}/v1/chat/completions`, { method: "POST", body: "{" }),
    ];
    const send = async (count: number): Promise<void> => {
      let left = count;
      const client = async (): Promise<void> => {
        while (left-- > 0) {
          const response = await kinds[Math.floor(random() * kinds.length)]?.();
          expect(response?.status).toBeLessThan(500);
          await response?.arrayBuffer();
        }
      };
      await Promise.all(Array.from({ length: 24 }, client));
    };
    await send(5_000);
    const before = rssMib(server.pid);
    await send(15_000);
    const grown = rssMib(server.pid) - before;
    console.log(
      `after 5,000 requests ${before.toFixed(0)} MiB, after 15,000 more ${grown.toFixed(0)} MiB more`,
    );
    expect(grown).toBeLessThan(40);
    await expectServes(server);
  });
});

const MEMORY = "/sys/fs/cgroup/memory";
const group = join(MEMORY, `svc-test-${process.pid}`);
/** A memory limit of version 1 or 2 that this process may set. */
function limitedTo(mib: number): string | undefined {
  try {
    mkdirSync(group);
    writeFileSync(join(group, "memory.limit_in_bytes"), String(mib * MIB));
    return `echo $$ > ${join(group, "cgroup.procs")}`;
  } catch {
    return undefined;
  }
}

const limit = isSlow ? limitedTo(700) : undefined;
if (isSlow && limit === undefined)
  console.warn("SKIPPED: a container with little memory: no cgroup can be made");

describe.if(limit !== undefined)("a container with little memory", () => {
  afterAll(async () => {
    await until("it is empty", () => {
      try {
        rmdirSync(group);
        return true;
      } catch {
        return false;
      }
    });
  });

  test("an engine that is killed for memory ends its requests with one error, and the server goes on", async () => {
    const server = await startServer([], defined({ before: limit }));
    await expectServes(server);
    const stream = await openStream(server.url, ask(ENDLESS));
    await stream.readTo(FIRST_TEXT);
    process.kill(server.enginePid(), "SIGKILL"); // as the kernel does
    const { errors } = await stream.finish();
    expect(errors).toHaveLength(1);
    await expectServes(server);
  });

  test("files that would fill it are refused or forgotten, and the server lives", async () => {
    const server = await startServer([], defined({ before: limit }));
    await expectServes(server);
    for (let i = 0; i < 20; i++) {
      const form = new FormData();
      form.set("file", new File([Buffer.alloc(45 * MIB, i)], `${i}.bin`));
      const response = await fetch(`${server.url}/v1/files`, { method: "POST", body: form });
      expect([200, 503]).toContain(response.status);
      await response.arrayBuffer();
    }
    await expectServes(server);
  });
});
