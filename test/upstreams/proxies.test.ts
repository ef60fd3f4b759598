// nginx and Caddy in front of svc on a UNIX socket, with the configurations of deploy/.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { spawnBinary } from "../helpers/binary.ts";
import { sharedDir } from "../helpers/tmp.ts";
import { until } from "../helpers/until.ts";
import {
  describeWithPrograms,
  type Program,
  type Running,
  startProgram,
  stopAll,
  stopLater,
} from "./programs.ts";

const DEPLOY = resolve(import.meta.dir, "../../deploy");
const NGINX: Program = { variable: "SVC_NGINX", name: "nginx", source: "install it with: apt install nginx" };
const CADDY: Program = { variable: "SVC_CADDY", name: "caddy", source: "install it with: apt install caddy" };

const KEY = { authorization: "Bearer secret" };
const MIB = 1024 * 1024;
/** Some seconds of the built-in model. */
const LONG = {
  messages: [{ role: "user", content: "Count." }],
  max_tokens: 3500,
  min_tokens: 3500,
  stream: true,
};

/** A svc on a socket that every user may use, as the workers of nginx are others than its first process. */
interface SocketServer {
  readonly path: string;
  readonly stderr: () => string;
}

async function serveSocket(args: readonly string[]): Promise<SocketServer> {
  const path = join(sharedDir(), "svc.sock");
  const child = spawnBinary(["serve", "--host", `unix:${path}`, "--socket-mode", "0666", ...args]);
  stopLater(() => child.kill("SIGKILL"));
  let heard = "";
  void (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of child.stderr) heard += decoder.decode(chunk, { stream: true });
  })();
  await until("svc is ready", () => heard.includes("Ready."), 60_000);
  return { path, stderr: () => heard };
}

function startNginx({ path }: SocketServer): Promise<Running> {
  const folder = sharedDir();
  const file = join(folder, "nginx.conf");
  const written = readFileSync(join(DEPLOY, "nginx.conf"), "utf8");
  return startProgram({
    program: NGINX,
    ready: "/health",
    args: (port) => {
      const [first, ...others] = written.split("\n").map((line) =>
        line
          .replace("listen 1234", `listen 127.0.0.1:${port}`)
          .replace("server svc-0:1234", `server unix:${path}`)
          .replace(/.*svc-1:1234.*/, ""),
      );
      writeFileSync(file, [`pid ${folder}/pid;`, first, ...others].join("\n"));
      return ["-p", folder, "-e", "stderr", "-g", "daemon off;", "-c", file];
    },
  });
}

function startCaddy({ path }: SocketServer): Promise<Running> {
  const folder = sharedDir();
  return startProgram({
    program: CADDY,
    ready: "/health",
    args: (port) => {
      const file = join(folder, "Caddyfile");
      const written = readFileSync(join(DEPLOY, "Caddyfile"), "utf8");
      writeFileSync(file, written.replace("{$SVC_SITE:ai.example.org}", `http://127.0.0.1:${port}`));
      return ["run", "--config", file, "--adapter", "caddyfile"];
    },
    env: { SVC_UPSTREAM: `unix/${path}` },
  });
}

describe.each([
  ["nginx", NGINX, startNginx],
  ["Caddy", CADDY, startCaddy],
] as const)("%s", (_, program, start) => {
  describeWithPrograms(program)("in front of a socket", () => {
    let svc: SocketServer;
    let url = "";
    afterAll(stopAll);
    beforeAll(async () => {
      svc = await serveSocket(["--api-keys", "secret"]);
      ({ url } = await start(svc));
    });
    const post = (path: string, body: unknown, init: RequestInit = {}) =>
      fetch(url + path, {
        method: "POST",
        headers: { ...KEY, "content-type": "application/json" },
        body: JSON.stringify(body),
        ...init,
      });

    test("keys of all dialects arrive", async () => {
      const status = async (headers: Record<string, string>) =>
        (await fetch(`${url}/v1/models`, { headers })).status;
      expect([await status({}), await status(KEY), await status({ "x-api-key": "secret" })]).toEqual([
        401, 200, 200,
      ]);
    });

    test.each([
      ["/v1/chat/completions", LONG],
      ["/v1/responses", { input: "Count.", max_output_tokens: 3500, ignore_eos: true, stream: true }],
      ["/api/chat", { model: "svc-tiny", messages: LONG.messages, options: { num_predict: 3500 } }],
    ])("%s arrives as it is generated, and ends when the client leaves", async (path, body) => {
      const leaving = new AbortController();
      const answer = await post(path, body, { signal: leaving.signal });
      const reader = answer.body?.getReader();
      expect((await reader?.read())?.value?.length).toBeGreaterThan(0);
      const metrics = await (await fetch(`${url}/metrics`, { headers: KEY })).text();
      expect(metrics).toMatch(new RegExp(`^http_requests_in_flight\\{[^}]*path="${path}"[^}]*\\} 1$`, "m"));
      leaving.abort();
      await until("svc has noticed", () => new RegExp(`POST ${path} 200 .* client_left`).test(svc.stderr()));
    });

    test("large files pass, too large ones get 413", async () => {
      const upload = (bytes: number) => {
        const form = new FormData();
        form.set("purpose", "user_data");
        form.set("file", new File([new Uint8Array(bytes)], "large.bin"));
        return fetch(`${url}/v1/files`, { method: "POST", headers: KEY, body: form });
      };
      expect(await (await upload(20 * MIB)).json()).toMatchObject({ bytes: 20 * MIB, filename: "large.bin" });
      expect((await upload(60 * MIB)).status).toBe(413);
    });
  });

  describeWithPrograms(program)("without keys", () => {
    afterAll(stopAll);

    test("a forwarded request is not one of this machine, unless the proxy is trusted", async () => {
      const installed = async (svc: SocketServer) => {
        const { url } = await start(svc);
        const path = "/v1/hub/models"; // for those who may change the models
        const direct = await fetch(`http://localhost${path}`, { unix: svc.path });
        return [direct.status, (await fetch(url + path)).status];
      };
      expect(await installed(await serveSocket([]))).toEqual([200, 404]);
      expect(await installed(await serveSocket(["--trusted-proxies", "127.0.0.1"]))).toEqual([200, 200]);
    });
  });
});

/** Signs in as oauth2-proxy does: whose cookie it knows is told by headers, others are asked to sign in. */
function startSignIn(): string {
  const PEOPLE: Readonly<Record<string, string>> = { anna: "staff", otto: "staff,svc-admins" };
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      const name = /session=(\w+)/.exec(request.headers.get("cookie") ?? "")?.[1] ?? "";
      const groups = PEOPLE[name];
      if (groups === undefined) return new Response(null, { status: 401 });
      const headers = { "x-auth-request-email": `${name}@example.org`, "x-auth-request-groups": groups };
      return new Response(null, { status: 202, headers });
    },
  });
  stopLater(() => void server.stop(true));
  return `127.0.0.1:${server.port}`;
}

describeWithPrograms(CADDY)("Caddy with the sign-in of a team", () => {
  afterAll(stopAll);

  test("people come through the sign-in, programs by key, and nobody names themselves", async () => {
    const people = ["--user-header", "x-auth-request-email", "--groups-header", "x-auth-request-groups"];
    const svc = await serveSocket([
      "--trusted-proxies",
      "127.0.0.1",
      "--admin-groups",
      "svc-admins",
      "--api-keys",
      "secret",
      ...people,
    ]);
    const signIn = startSignIn();
    const folder = sharedDir();
    const { url } = await startProgram({
      program: CADDY,
      ready: "/health",
      args: (port) => {
        const file = join(folder, "Caddyfile");
        const written = readFileSync(join(DEPLOY, "team/Caddyfile"), "utf8");
        writeFileSync(file, written.replace("{$SVC_SITE:llm.example.org}", `http://127.0.0.1:${port}`));
        return ["run", "--config", file, "--adapter", "caddyfile"];
      },
      env: { SVC_UPSTREAM: `unix/${svc.path}`, SVC_SIGN_IN: signIn },
    });
    const ask = async (path: string, headers: Record<string, string> = {}) =>
      (await fetch(url + path, { headers, redirect: "manual" })).status;
    const ANNA = { cookie: "session=anna" };
    const OTTO = { cookie: "session=otto" };
    const forged = { "x-auth-request-email": "otto@example.org", "x-auth-request-groups": "svc-admins" };
    expect([await ask("/v1/models", ANNA), await ask("/metrics", ANNA), await ask("/metrics", OTTO)]).toEqual(
      [200, 403, 200],
    );
    expect([await ask("/v1/models"), await ask("/v1/models", forged)]).toEqual([302, 302]);
    expect([
      await ask("/metrics", { ...ANNA, ...forged }),
      await ask("/metrics", { ...KEY, ...forged }),
    ]).toEqual([403, 200]);
    expect(await ask("/v1/models", { ...forged, authorization: "Bearer wrong" })).toBe(401);
    const foreign = { ...ANNA, origin: "https://evil.example", "content-type": "application/json" };
    const body = JSON.stringify({ messages: [{ role: "user", content: "Hi" }], max_tokens: 1 });
    const answered = await fetch(`${url}/v1/chat/completions`, { method: "POST", headers: foreign, body });
    const own = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { ...foreign, origin: url },
      body,
    });
    expect([answered.status, own.status]).toEqual([403, 200]);
  });
});
