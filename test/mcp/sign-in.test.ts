// Signing in to a remote MCP server, with an authorization server that behaves like a real one.

import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { type LoginDeps, logIn } from "../../src/mcp/login.ts";
import { SignIns } from "../../src/mcp/sign-in.ts";
import { failure } from "../helpers/failure.ts";
import { httpDemo, testServers, textOf } from "../helpers/mcp.ts";
import { oauthDemo, type OAuthDemo, type OAuthDemoOptions } from "../helpers/oauth.ts";
import { tempDir } from "../helpers/tmp.ts";
import { until } from "../helpers/until.ts";

const never = Promise.withResolvers<string>().promise;
const openPage = (page: string): void => void fetch(page);

function folder() {
  const path = join(tempDir(), "sign-ins");
  return { path, signIns: new SignIns(path) };
}

function login(demo: { readonly url: string }, signIns: SignIns, changes: Partial<LoginDeps> = {}) {
  const { signal } = new AbortController();
  return logIn(demo.url, { signIns, show: openPage, copied: () => never, signal, ...changes });
}

function connected(demo: OAuthDemo, signIns: SignIns) {
  return testServers([{ label: "tracker", source: { type: "Http", url: demo.url } }], { signIns });
}

test("a sign-in in the browser is used, renewed when its token expires, and kept for its user only", async () => {
  const demo = oauthDemo();
  const { path, signIns } = folder();
  const before = await connected(demo, signIns);
  expect(before.connected).toBe(0);
  expect(before.logged).toContain(
    "MCP server tracker: it needs a valid token (HTTP status 401), or: svc mcp login tracker; reconnecting",
  );
  await login(demo, signIns);
  const [file = ""] = readdirSync(path);
  expect(statSync(join(path, file)).mode & 0o777).toBe(0o600);
  expect(statSync(path).mode & 0o777).toBe(0o700);
  await until("the waiting server has it, too", () => before.connected === 1);
  const servers = await connected(demo, signIns);
  expect(textOf(await servers.ask("echo", { text: "one" }))).toBe("one");
  demo.expire();
  expect(textOf(await servers.ask("echo", { text: "two" }))).toBe("two");
  expect(demo.grants).toEqual(["authorization_code", "refresh_token"]);
  const later = await connected(demo, new SignIns(path));
  expect(textOf(await later.ask("echo", { text: "three" }))).toBe("three");
});

test("a server with a token of its own is not told to be signed in to", async () => {
  const { signIns } = folder();
  const source = { type: "Http", url: oauthDemo().url } as const;
  const servers = await testServers([{ label: "tracker", source, bearerToken: "old" }], { signIns });
  expect(servers.logged).toContain(
    "MCP server tracker: it needs a valid token (HTTP status 401); reconnecting",
  );
});

test("a sign-in that the server has ended asks for a new one", async () => {
  const demo = oauthDemo();
  const { signIns } = folder();
  await login(demo, signIns);
  demo.revoke();
  const servers = await connected(demo, signIns);
  expect(servers.logged.join()).toContain("svc mcp login tracker");
  await login(demo, signIns);
  await until("it is connected again", () => servers.connected === 1);
  expect(signIns.remove(demo.url)).toBe(true);
  expect(signIns.remove(demo.url)).toBe(false);
});

test("an address that is copied from another machine's browser does as well", async () => {
  const demo = oauthDemo();
  const { signIns } = folder();
  const led = Promise.withResolvers<string>();
  const show = async (page: string): Promise<void> => {
    const { headers } = await fetch(page, { redirect: "manual" });
    led.resolve(`${headers.get("location")}\n`);
  };
  await login(demo, signIns, { show: (page) => void show(page), copied: () => led.promise });
  expect((await connected(demo, signIns)).connected).toBe(1);
});

test.each<[string, Partial<LoginDeps>, string]>([
  [
    "of another sign-in",
    { show: () => {}, copied: async () => "http://127.0.0.1:1/callback?code=1&state=2" },
    "this is not the address that the browser was led to",
  ],
  ["that is none", { show: () => {}, copied: async () => "yes" }, "start again and copy the whole of it"],
])("an address %s is refused", async (_, changes, words) => {
  const { path, signIns } = folder();
  expect(await failure(login(oauthDemo(), signIns, changes))).toContain(words);
  expect(() => readdirSync(path)).toThrow();
});

test("a refusal, a server without sign-ins, and Ctrl-C end it with the reason; an old sign-in stays", async () => {
  const { signIns } = folder();
  expect(await failure(login(oauthDemo({ denies: true }), signIns))).toContain("access_denied");
  const plain = httpDemo({ guard: () => new Response("no", { status: 404 }) });
  expect(await failure(login(plain, signIns))).toContain("no sign-in that svc can use");
  const demo = oauthDemo();
  await login(demo, signIns);
  const stop = new AbortController();
  const stopped = login(demo, signIns, { show: () => stop.abort(new Error("stopped")), signal: stop.signal });
  expect(await failure(stopped)).toContain("stopped");
  expect((await connected(demo, signIns)).connected).toBe(1);
});

test("the page that leads back is answered; a foreign one is refused", async () => {
  const { signIns } = folder();
  const shown = Promise.withResolvers<string>();
  const done = login(oauthDemo(), signIns, { show: shown.resolve });
  const page = new URL(await shown.promise);
  const back = page.searchParams.get("redirect_uri") ?? "";
  expect((await fetch(`${back}?code=1&state=foreign`)).status).toBe(400);
  expect((await fetch(new URL("/other", back))).status).toBe(404);
  expect(await (await fetch(page)).text()).toContain("You are signed in");
  await done;
});

describe("what the refusal of a request names", () => {
  test("is where the metadata are, and the scopes", async () => {
    const demo = oauthDemo({ metadataPath: "/elsewhere/metadata", scope: "tools:read files" });
    const { signIns } = folder();
    await login(demo, signIns);
    expect(demo.scopes).toEqual(["tools:read files"]);
    expect((await connected(demo, signIns)).connected).toBe(1);
  });

  test("is asked for by the next sign-in, where a call needs it", async () => {
    const demo = oauthDemo({ scope: "list", callScope: "call" });
    const { signIns } = folder();
    await login(demo, signIns);
    const servers = await connected(demo, signIns);
    expect(JSON.stringify(await servers.ask("echo", { text: "one" }))).toContain("svc mcp login tracker");
    await login(demo, signIns);
    expect(demo.scopes).toEqual(["list", "list call"]);
    const later = await connected(demo, signIns);
    expect(textOf(await later.ask("echo", { text: "two" }))).toBe("two");
  });
});

const LONG = "x".repeat(20_000);

describe("a sign-in is refused, and nothing is stored, where", () => {
  test.each<[string, OAuthDemoOptions, string]>([
    [
      "PKCE is not promised",
      { metadata: { code_challenge_methods_supported: undefined } },
      "supports PKCE with S256",
    ],
    [
      "only plain PKCE is",
      { metadata: { code_challenge_methods_supported: ["plain"] } },
      "supports PKCE with S256",
    ],
    [
      "the page is a file",
      { metadata: { authorization_endpoint: "file:///etc/passwd" } },
      "not at an https address",
    ],
    [
      "the page is not https",
      { metadata: { authorization_endpoint: "http://example.com/a" } },
      "not at an https address",
    ],
    ["the token is of another type", { tokens: { token_type: "mac" } }, "not of the type Bearer"],
    ["the token breaks the header", { tokens: { access_token: "a\r\nX: 1" } }, "not visible ASCII"],
    [
      "the token is long",
      { tokens: { access_token: LONG } },
      "not visible ASCII of at most 16384 characters",
    ],
    ["the token for renewals is long", { tokens: { refresh_token: LONG } }, "not visible ASCII"],
    [
      "it says so with escapes",
      { denies: "\u001B]0;PWNED\u0007\u001B[2J no" },
      "the server refused: ]0;PWNED[2J no",
    ],
    ["it says so at length", { denies: "A".repeat(6000) }, `the server refused: ${"A".repeat(200)}…`],
  ])("%s", async (_, options, words) => {
    const { path, signIns } = folder();
    const pages: string[] = [];
    const show = (page: string): void =>
      void fetch(page).then(async (answer) => pages.push(await answer.text()));
    const message = await failure(login(oauthDemo(options), signIns, { show }));
    expect(message).toContain(words);
    expect(message).not.toMatch(/\p{Cc}/u);
    expect(existsSync(path)).toBe(false);
    await until("the browser is told", () => !/token|escapes|length/.test(_) || pages.length === 1);
    expect(pages.join()).not.toContain("You are signed in");
  });
});

test("a client that the operator has registered needs no registration, and renews with its id and secret", async () => {
  const metadata = {
    registration_endpoint: undefined,
    token_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post"],
  };
  const demo = oauthDemo({ clients: ["pre-registered"], metadata });
  const { signIns } = folder();
  expect(await failure(login(demo, signIns))).toContain("no sign-in that svc can use");
  const client = { client_id: "pre-registered", client_secret: "s3cret" };
  await login(demo, signIns, { client });
  const servers = await connected(demo, signIns);
  demo.expire();
  expect(textOf(await servers.ask("echo", { text: "again" }))).toBe("again");
  expect(demo.grants).toEqual(["authorization_code", "refresh_token"]);
  for (const secret of demo.secrets) expect(secret).toContain("s3cret");
});

test("a server that reads client metadata documents gets the address of one", async () => {
  const document = "https://client.example/svc.json";
  const metadata = { registration_endpoint: undefined, client_id_metadata_document_supported: true };
  const demo = oauthDemo({ clients: [document], metadata });
  const { signIns } = folder();
  await login(demo, signIns, { client: { client_metadata_url: document } });
  const servers = await connected(demo, signIns);
  expect(textOf(await servers.ask("echo", { text: "in" }))).toBe("in");
});
