// How the web interface is sent: what is found where, and what the page may do.

import { describe, expect, test } from "bun:test";
import { hash } from "node:crypto";
import { ApiKeys } from "../../src/http/api-keys.ts";
import { testApp } from "../helpers/app.ts";

const app = testApp();

/** The page, and the addresses of its icon, manifest, style and scripts. */
async function page(): Promise<{ readonly html: string; readonly addresses: readonly string[] }> {
  const html = await (await app.request("/ui/")).text();
  return {
    html,
    addresses: [...html.matchAll(/(?:src|href)="(?<url>[^"]+)"/g)].map(({ groups }) => groups?.["url"] ?? ""),
  };
}

test("without the slash one is sent to the folder, behind any prefix", async () => {
  const response = await app.request("/ui");
  expect([response.status, response.headers.get("location")]).toEqual([308, "ui/"]);
});

test("the page names files that are there and may be kept", async () => {
  const { addresses } = await page();
  expect(addresses.map((address) => address.split(".").at(-1))).toEqual(
    expect.arrayContaining(["svg", "webmanifest", "css", "js"]),
  );
  for (const address of addresses) {
    expect(address).toMatch(/^\.\/\w+-\w+\.(?:js|css|svg|webmanifest)$/);
    const response = await app.request(`/ui/${address.slice(2)}`);
    expect(response.status).toBe(200);
    expect(response.headers.get("cache-control")).toContain("immutable");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  }
});

test("the page itself is asked for again", async () => {
  const { headers } = await app.request("/ui/");
  expect(headers.get("cache-control")).toBe("no-cache");
  expect(headers.get("content-type")).toStartWith("text/html");
});

describe("the security policy", () => {
  test("comes with every file", async () => {
    const { addresses } = await page();
    for (const path of ["/ui/", ...addresses.map((address) => `/ui/${address.slice(2)}`)]) {
      const policy = (await app.request(path)).headers.get("content-security-policy") ?? "";
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("connect-src 'self'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toContain("unsafe");
    }
  });

  test("has nothing inline to forgive", async () => {
    const { html } = await page();
    expect(html).not.toMatch(/<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)/);
  });
});

test("the manifest names a page and an icon that are there", async () => {
  const { addresses } = await page();
  const address = addresses.find((one) => one.endsWith(".webmanifest")) ?? "";
  const response = await app.request(`/ui/${address.slice(2)}`);
  expect(response.headers.get("content-type")).toContain("application/manifest+json");
  const { start_url: start, icons } = (await response.json()) as {
    start_url: string;
    icons: { src: string; type: string }[];
  };
  for (const path of [start.replace("./", ""), ...icons.map(({ src }) => src)]) {
    const { status, headers } = await app.request(`/ui/${path}`);
    expect([status, headers.get("cache-control")]).toEqual([200, "no-cache"]);
  }
});

test("the preview of an answer has an origin of its own and no network", async () => {
  const { headers } = await app.request("/ui/preview.html");
  const policy = headers.get("content-security-policy")?.split("; ") ?? [];
  expect(policy).toContain("sandbox allow-scripts");
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("frame-ancestors 'self'");
  expect(policy.join()).not.toContain("connect-src");
});

test("the preview runs its own script alone, unless it is asked to run others", async () => {
  const scripts = async (path: string): Promise<string> => {
    const { headers } = await app.request(path);
    const policy = headers.get("content-security-policy")?.split("; ") ?? [];
    return policy.find((one) => one.startsWith("script-src")) ?? "";
  };
  expect(await scripts("/ui/preview.html")).toMatch(/^script-src 'sha256-[\w+/=]{44}' 'strict-dynamic'$/);
  expect(await scripts("/ui/preview.html?scripts")).toBe("script-src 'unsafe-inline'");
  const html = await (await app.request("/ui/preview.html")).text();
  const own = /<script>(?<text>[^]*)<\/script>/.exec(html)?.groups?.["text"] ?? "";
  const digest = hash("sha256", own, "base64");
  expect(await scripts("/ui/preview.html")).toContain(digest);
});

test("files are sent compressed to those who can read that", async () => {
  const { addresses } = await page();
  const script = addresses.find((address) => address.endsWith(".js")) ?? "";
  const plain = await app.request(`/ui/${script.slice(2)}`);
  const packed = await app.request(`/ui/${script.slice(2)}`, { headers: { "accept-encoding": "gzip, br" } });
  expect(plain.headers.get("content-encoding")).toBeNull();
  expect(packed.headers.get("content-encoding")).toBe("gzip");
  expect(packed.headers.get("vary")).toContain("accept-encoding");
  const unpacked = Bun.gunzipSync(new Uint8Array(await packed.arrayBuffer()));
  expect(new TextDecoder().decode(unpacked)).toBe(await plain.text());
});

test.each(["/ui/nope.js", "/ui/..%2f..%2fpackage.json", "/ui/a/b"])("%s is not there", async (path) => {
  const response = await app.request(path);
  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({ error: { code: "route_not_found" } });
});

test("no_ui takes it away", async () => {
  const without = testApp(undefined, { ui: false });
  expect((await without.request("/ui/")).status).toBe(404);
  expect((await without.request("/ui")).status).toBe(404);
});

test("it is open where keys are demanded, and nothing else is", async () => {
  const locked = testApp(undefined, { apiKeys: new ApiKeys(["secret"]) });
  expect((await locked.request("/ui/")).status).toBe(200);
  expect((await locked.request("/uix")).status).toBe(401);
  expect((await locked.request("/v1/models")).status).toBe(401);
});
