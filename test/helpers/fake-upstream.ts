// A server with an OpenAI-compatible API that does what a test tells it: answers, fails, hangs, resets. Speaks over real
// sockets, because that is where upstreams break.

import { onTestFinished } from "bun:test";
import type { Socket, TCPSocketListener } from "bun";

/** How the next requests for an answer go. */
export type Behaviour =
  /** Streams the chunks. */
  | { readonly type: "answer"; readonly chunks?: readonly object[]; readonly pauseMs?: number }
  /** A whole answer with this status. */
  | {
      readonly type: "status";
      readonly status: number;
      readonly body?: unknown;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** Never answers, or never again after these texts of a stream. */
  | { readonly type: "hang"; readonly after?: readonly string[] }
  /** Closes the connection: before anything was sent, after the head, or after these chunks. */
  | { readonly type: "close"; readonly after: "nothing" | "head" | readonly object[] }
  /** Bytes that are no HTTP, or a stream of these texts. */
  | { readonly type: "garbage"; readonly data?: string };

export interface Seen {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Record<string, unknown>;
}

export interface FakeUpstream {
  /** Base address with /v1. */
  readonly url: string;
  /** Requests for answers, in order of their arrival. */
  readonly seen: Seen[];
  /** Requests for answers whose connection the other side has closed before the end. */
  left: number;
  /** Requests for answers under way. */
  open: number;
  /** The most that were under way at once. */
  openMax: number;
  behaviour: Behaviour | ((seen: Seen) => Behaviour);
  /** Cards of the model list. */
  cards: readonly object[];
  /** Status of the model list. */
  listStatus: number;
  /** Stops listening and breaks all connections; `start` listens on the same port again. */
  stop(): void;
  start(): void;
}

/** A chunk of a chat completion with one choice. */
export function chunk(delta: object, finish: string | null = null, extra: object = {}): object {
  return { choices: [{ index: 0, delta, finish_reason: finish, ...extra }] };
}

const USAGE = { choices: [], usage: { prompt_tokens: 7, completion_tokens: 3 } };

/** "Hello there." in two pieces. */
export const HELLO: readonly object[] = [
  chunk({ role: "assistant", content: "" }),
  chunk({ content: "Hello" }),
  chunk({ content: " there." }),
  chunk({}, "stop"),
  USAGE,
];

/** A card as vLLM has it. */
const VLLM_CARD = { id: "m", object: "model", owned_by: "vllm", max_model_len: 4096 };

/** First byte of a TLS connection. */
const TLS_HANDSHAKE = 22;

interface Connection {
  text: string;
  answering: boolean;
}

class Fake implements FakeUpstream {
  readonly seen: Seen[] = [];
  left = 0;
  open = 0;
  openMax = 0;
  behaviour: FakeUpstream["behaviour"] = { type: "answer" };
  cards: readonly object[] = [VLLM_CARD];
  listStatus = 200;
  private listener: TCPSocketListener<Connection> | undefined;
  private readonly sockets = new Set<Socket<Connection>>();
  private port = 0;

  get url(): string {
    return `http://127.0.0.1:${this.port}/v1`;
  }

  start(): void {
    this.listener = Bun.listen<Connection>({
      hostname: "127.0.0.1",
      port: this.port,
      socket: {
        open: (socket) => {
          socket.data = { text: "", answering: false };
          this.sockets.add(socket);
        },
        data: (socket, bytes) => this.receive(socket, bytes),
        close: (socket) => {
          this.sockets.delete(socket);
          if (socket.data.answering) {
            socket.data.answering = false;
            this.left++;
            this.open--;
          }
        },
      },
    });
    this.port = this.listener.port;
  }

  stop(): void {
    this.listener?.stop(true);
    for (const socket of this.sockets) socket.terminate();
  }

  private receive(socket: Socket<Connection>, bytes: Uint8Array): void {
    const { data } = socket;
    if (data.text === "" && bytes[0] === TLS_HANDSHAKE) return void socket.end("this is no TLS");
    data.text += new TextDecoder("latin1").decode(bytes);
    const end = data.text.indexOf("\r\n\r\n");
    if (end < 0) return;
    const [first = "", ...lines] = data.text.slice(0, end).split("\r\n");
    const headers = Object.fromEntries(
      lines.map((line) => [
        line.slice(0, line.indexOf(":")).toLowerCase(),
        line.slice(line.indexOf(":") + 1).trim(),
      ]),
    );
    const length = Number(headers["content-length"] ?? 0);
    const body = data.text.slice(end + 4);
    if (body.length < length) return;
    data.text = body.slice(length);
    const path = first.split(" ")[1] ?? "";
    if (path === "/v1/models") return whole(socket, this.listStatus, { object: "list", data: this.cards });
    if (path === "/version") return whole(socket, 200, { version: "0.12.0" });
    if (path === "/props") return whole(socket, 200, { modalities: { vision: true, audio: false } });
    const text = Buffer.from(body.slice(0, length), "latin1").toString("utf8");
    const seen = { path, headers, body: JSON.parse(text) as Record<string, unknown> };
    this.seen.push(seen);
    this.open++;
    this.openMax = Math.max(this.openMax, this.open);
    data.answering = true;
    void this.answer(socket, typeof this.behaviour === "function" ? this.behaviour(seen) : this.behaviour);
  }

  private async answer(socket: Socket<Connection>, behaviour: Behaviour): Promise<void> {
    switch (behaviour.type) {
      case "hang":
        if (behaviour.after !== undefined) head(socket);
        for (const text of behaviour.after ?? []) part(socket, text);
        return;
      case "status":
        this.done(socket);
        return whole(socket, behaviour.status, behaviour.body ?? {}, behaviour.headers);
      case "garbage":
        this.done(socket);
        if (behaviour.data === undefined) {
          socket.end("no HTTP at all\r\n\r\n");
          return;
        }
        head(socket);
        part(socket, behaviour.data);
        socket.write("0\r\n\r\n");
        return;
      case "close":
        if (behaviour.after !== "nothing") head(socket);
        if (Array.isArray(behaviour.after)) for (const one of behaviour.after) part(socket, event(one));
        socket.flush();
        if (Array.isArray(behaviour.after)) await Bun.sleep(20); // a reset overtakes what was sent
        this.done(socket);
        socket.terminate();
        return;
      case "answer": {
        head(socket);
        for (const one of behaviour.chunks ?? HELLO) {
          if (behaviour.pauseMs !== undefined) await Bun.sleep(behaviour.pauseMs);
          if (!socket.data.answering) return;
          part(socket, event(one));
        }
        this.done(socket);
        part(socket, "data: [DONE]\n\n");
        socket.write("0\r\n\r\n");
      }
    }
  }

  private done(socket: Socket<Connection>): void {
    socket.data.answering = false;
    this.open--;
  }
}

function event(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

function head(socket: Socket<Connection>): void {
  socket.write(
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: keep-alive\r\n\r\n",
  );
}

function part(socket: Socket<Connection>, text: string): void {
  socket.write(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
}

function whole(
  socket: Socket<Connection>,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  const text = JSON.stringify(body);
  const lines = Object.entries({
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(text)),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/1.1 ${status} Whatever\r\n${lines.join("")}\r\n${text}`);
}

/** A server for one test. */
export function fakeUpstream(behaviour: FakeUpstream["behaviour"] = { type: "answer" }): FakeUpstream {
  const fake = new Fake();
  fake.behaviour = behaviour;
  fake.start();
  onTestFinished(() => fake.stop());
  return fake;
}
