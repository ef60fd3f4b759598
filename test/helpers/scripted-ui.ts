// A server for the web interface with scripted answers and approvals.

import { afterAll, beforeAll } from "bun:test";
import type { AnswerEvent, Conversation } from "../../src/core/agent.ts";
import type { HttpDeps } from "../../src/http/deps.ts";
import { testApp } from "./app.ts";

export interface Decision {
  readonly decision: string;
  readonly message?: string;
  readonly remember_for_session?: boolean;
}

export interface ScriptedUi {
  url(): string;
  /** Sets the script of all further answers. */
  play(script: (conversation: Conversation, signal: AbortSignal) => AsyncIterable<AnswerEvent>): void;
  /** Resolves with the user's decision on an approval. */
  decision(approvalId: string): Promise<Decision>;
  /** Breaks the connections of all streams, as a network does. */
  cut(): void;
  /** Stops the server and starts another one at the same address. */
  restart(): Promise<void>;
  /** Replaces the server's handler of a path. */
  route(path: string, answer: (request: Request) => Response | Promise<Response>): void;
}

/** Declares a server that listens while the tests of this file run. */
export function scriptedUi(deps: Partial<HttpDeps> = {}): ScriptedUi {
  let script: Parameters<ScriptedUi["play"]>[0] | undefined;
  let server: ReturnType<typeof Bun.serve> | undefined;
  const waiting = new Map<string, (decision: Decision) => void>();
  const routes = new Map<string, (request: Request) => Response | Promise<Response>>();
  const newApp = () =>
    testApp(undefined, {
      ...deps,
      converse: (conversation, signal) => {
        if (script === undefined) throw new Error("no script is set");
        return script(conversation, signal);
      },
    }).app;
  let app = newApp();
  const streams = new Set<(error: Error) => void>();
  /** The same response; its stream can be broken. */
  const breakable = (response: Response): Response => {
    const { body, headers } = response;
    if (body === null || headers.get("content-type")?.startsWith("text/event-stream") !== true)
      return response;
    const line = new TransformStream<Uint8Array, Uint8Array>();
    const abort = new AbortController();
    const snap = (error: Error): void => abort.abort(error);
    streams.add(snap);
    void body
      .pipeTo(line.writable, { signal: abort.signal })
      .catch(() => undefined)
      .finally(() => streams.delete(snap));
    return new Response(line.readable, response);
  };
  const decide = async (id: string, request: Request): Promise<Response> => {
    const resolve = waiting.get(id);
    if (resolve === undefined) return Response.json({ status: "not_found" }, { status: 404 });
    waiting.delete(id);
    resolve((await request.json()) as Decision);
    return Response.json({ status: "resolved" });
  };
  const listen = (port: number): void => {
    server = Bun.serve({
      port,
      hostname: "127.0.0.1",
      idleTimeout: 0,
      fetch: async (request) => {
        const { pathname } = new URL(request.url);
        const approval = /^\/v1\/agent\/approvals\/(?<id>[^/]+)$/.exec(pathname)?.groups?.["id"];
        if (approval !== undefined) return decide(approval, request);
        return routes.get(pathname)?.(request) ?? breakable(await app.handle(request));
      },
    });
  };
  beforeAll(() => listen(0));
  afterAll(() => server?.stop(true));
  return {
    url: () => `http://127.0.0.1:${server?.port}`,
    play: (next) => {
      script = next;
    },
    decision: (id) => new Promise((resolve) => waiting.set(id, resolve)),
    cut: () => {
      for (const snap of streams) snap(new Error("cut"));
    },
    restart: async () => {
      const port = server?.port ?? 0;
      await server?.stop(true);
      app = newApp();
      listen(port);
    },
    route: (path, answer) => void routes.set(path, answer),
  };
}
