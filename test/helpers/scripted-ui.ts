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
  /** Replaces the server's handler of a path. */
  route(path: string, answer: (request: Request) => Response | Promise<Response>): void;
}

/** Declares a server that listens while the tests of this file run. */
export function scriptedUi(deps: Partial<HttpDeps> = {}): ScriptedUi {
  let script: Parameters<ScriptedUi["play"]>[0] | undefined;
  let server: ReturnType<typeof Bun.serve> | undefined;
  const waiting = new Map<string, (decision: Decision) => void>();
  const routes = new Map<string, (request: Request) => Response | Promise<Response>>();
  const { app } = testApp(undefined, {
    ...deps,
    converse: (conversation, signal) => {
      if (script === undefined) throw new Error("no script is set");
      return script(conversation, signal);
    },
  });
  const decide = async (id: string, request: Request): Promise<Response> => {
    const resolve = waiting.get(id);
    if (resolve === undefined) return Response.json({ status: "not_found" }, { status: 404 });
    waiting.delete(id);
    resolve((await request.json()) as Decision);
    return Response.json({ status: "resolved" });
  };
  beforeAll(() => {
    server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      idleTimeout: 0,
      fetch: (request) => {
        const { pathname } = new URL(request.url);
        const approval = /^\/v1\/agent\/approvals\/(?<id>[^/]+)$/.exec(pathname)?.groups?.["id"];
        if (approval !== undefined) return decide(approval, request);
        return routes.get(pathname)?.(request) ?? app.handle(request);
      },
    });
  });
  afterAll(() => server?.stop(true));
  return {
    url: () => `http://127.0.0.1:${server?.port}`,
    play: (next) => {
      script = next;
    },
    decision: (id) => new Promise((resolve) => waiting.set(id, resolve)),
    route: (path, answer) => void routes.set(path, answer),
  };
}
