// Burst of concurrent clients: number of answers, latency of refusals, lost requests. Each client is one connection with one
// chat request. On an idle machine, and beside busy processes.
//
//   bun bench/burst.ts [--clients 1500,5000] [--busy 0,10] [--max 8] [--svc ./svc] [--queue 1024]
//
// A request is lost if its connection ends without an answer, or after a timeout of two minutes.

import { parseArgs } from "node:util";
import { join } from "node:path";
import { freePort } from "../test/helpers/free-port.ts";
import { quantile } from "./stats.ts";

/** Results of one burst. Milliseconds from sending a request to the last byte of its answer. */
interface Burst {
  readonly answered: number;
  readonly refused: number;
  readonly lost: number;
  /** Lost requests by cause. */
  readonly faults: Readonly<Record<string, number>>;
  readonly refusedMs: readonly number[];
  readonly answeredMs: readonly number[];
}

/** Timeout after which a request counts as lost. */
const ANSWER_TIMEOUT_MS = 120_000;

interface Client {
  startMs: number;
  text: string;
  isDone: boolean;
}

/** Sends all requests at once and waits for their results. */
async function burst(port: number, clients: number, maxTokens: number): Promise<Burst> {
  const body = JSON.stringify({
    model: "default",
    messages: [{ role: "user", content: "Count from 1 to 5." }],
    max_tokens: maxTokens,
  });
  const head = [
    "POST /v1/chat/completions HTTP/1.1",
    "host: localhost",
    "content-type: application/json",
    "connection: close",
    `content-length: ${body.length}`,
  ];
  const request = [...head, "", body].join("\r\n");
  const refusedMs: number[] = [];
  const answeredMs: number[] = [];
  const faults: Record<string, number> = {};
  const over = Promise.withResolvers<void>();
  let left = clients;
  const settle = (client: Client, fault?: string): void => {
    if (client.isDone) return;
    client.isDone = true;
    const ms = performance.now() - client.startMs;
    const status = /^HTTP\/1\.1 (\d+)/.exec(client.text)?.[1];
    if (fault !== undefined || status === undefined) {
      const why = fault ?? "closed without an answer";
      faults[why] = (faults[why] ?? 0) + 1;
    } else if (status === "200") answeredMs.push(ms);
    else if (status === "429" || status === "503") refusedMs.push(ms);
    else faults[status] = (faults[status] ?? 0) + 1;
    if (--left === 0) over.resolve();
  };
  const all = Array.from({ length: clients }, (): Client => ({ startMs: 0, text: "", isDone: false }));
  const socket = {
    open: (one: Bun.Socket<Client>) => {
      one.data.startMs = performance.now(); // accepted by the kernel; the server may not have seen it yet
      one.write(request);
    },
    data: (one: Bun.Socket<Client>, data: Buffer) => {
      one.data.text += data.toString("latin1");
      if (isWhole(one.data.text)) settle(one.data);
    },
    close: (one: Bun.Socket<Client>) => settle(one.data),
    error: (one: Bun.Socket<Client>, error: Error) => settle(one.data, error.message),
  };
  for (const client of all) {
    client.startMs = performance.now();
    Bun.connect({ hostname: "127.0.0.1", port, data: client, socket }).catch((error: Error) =>
      settle(client, error.message),
    );
  }
  const timer = setTimeout(
    () => all.forEach((client) => settle(client, "no answer in time")),
    ANSWER_TIMEOUT_MS,
  );
  await over.promise;
  clearTimeout(timer);
  const lost = clients - answeredMs.length - refusedMs.length;
  return { answered: answeredMs.length, refused: refusedMs.length, lost, faults, refusedMs, answeredMs };
}

function isWhole(text: string): boolean {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(text)?.[1];
  return length !== undefined && text.length >= end + 4 + Number(length);
}

/** Runs the client in its own process, so that it shares no event loop. */
async function burstApart(port: number, clients: number, maxTokens: number): Promise<Burst> {
  const words = ["--client", String(port), "--clients", String(clients), "--max", String(maxTokens)];
  const child = Bun.spawn([process.execPath, import.meta.path, ...words], {
    stdout: "pipe",
    stderr: "inherit",
  });
  return (await new Response(child.stdout).json()) as Burst;
}

function ms(values: readonly number[], share: number): string {
  return values.length === 0 ? "–" : quantile(values, share).toFixed(0);
}

function row({ answered, refused, lost, faults, refusedMs, answeredMs }: Burst): string {
  const told = [0.5, 0.99, 1].map((share) => ms(refusedMs, share)).join(", ");
  const heard = [0.5, 1].map((share) => ms(answeredMs, share)).join(", ");
  const why = Object.entries(faults).map(([fault, count]) => `\n  lost: ${count} × ${fault}`);
  return `${answered} | ${refused} | ${lost} | ${told} | ${heard} |${why.join("")}`;
}

async function table(
  svc: string,
  queue: number,
  bursts: readonly number[],
  busy: readonly number[],
  max: number,
) {
  console.log(
    "| Clients | Busy processes | Answered | Refused | Lost | Refused after: median, p99, max (ms) | Answered after: median, max (ms) |",
  );
  console.log("|---|---|---|---|---|---|---|");
  const port = freePort();
  const server = Bun.spawn(
    [
      svc,
      "serve",
      "--host",
      "127.0.0.1",
      "--port",
      String(port),
      "--queue-max",
      String(queue),
      "--disable-access-log",
    ],
    { stdout: "ignore", stderr: "ignore" },
  );
  try {
    for (;;) {
      const isReady = await fetch(`http://127.0.0.1:${port}/ready`).then(
        ({ ok }) => ok,
        () => false,
      );
      if (isReady) break;
      await Bun.sleep(50);
    }
    await burstApart(port, 8, max); // a warm-up
    for (const others of busy) {
      const spinners = Array.from({ length: others }, () => Bun.spawn(["sh", "-c", "while :; do :; done"]));
      try {
        for (const clients of bursts) {
          console.log(`| ${clients} | ${others} | ${row(await burstApart(port, clients, max))}`);
        }
      } finally {
        for (const spinner of spinners) spinner.kill();
      }
    }
  } finally {
    server.kill();
    await server.exited;
  }
}

const { values } = parseArgs({
  options: {
    client: { type: "string" },
    clients: { type: "string", default: "1500,5000" },
    busy: { type: "string", default: "0,10" },
    max: { type: "string", default: "8" },
    queue: { type: "string", default: "1024" },
    svc: { type: "string", default: join(import.meta.dir, "../svc") },
  },
});
const numbers = (list: string): number[] => list.split(",").map(Number);
const maxTokens = Number(values.max);
if (values.client === undefined)
  await table(values.svc, Number(values.queue), numbers(values.clients), numbers(values.busy), maxTokens);
else console.log(JSON.stringify(await burst(Number(values.client), Number(values.clients), maxTokens)));
