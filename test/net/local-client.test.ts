// Which requests count as those of this machine.

import { describe, expect, test } from "bun:test";
import { hostname } from "node:os";
import { localClients } from "../../src/net/local-client.ts";

const HOST = { host: "localhost:1234" };
const isLocal = (
  peer: string | undefined,
  headers: Readonly<Record<string, string>>,
  trusted: readonly string[] = [],
) => localClients(trusted)(peer, new Headers(headers));

test.each<[string, Record<string, string>]>([
  ["127.0.0.1", HOST],
  ["::1", { host: "[::1]:1234" }],
  ["::ffff:127.0.0.1", { host: "127.0.0.1" }],
  ["127.0.1.1", { host: `${hostname()}:1234` }],
  ["127.0.0.1", { host: "svc.localhost" }],
  ["127.0.0.1", {}],
  ["127.0.0.1", { ...HOST, "x-stainless-os": "Linux", "x-request-id": "a", "user-agent": "curl" }],
])("%s with %j is local", (peer, headers) => expect(isLocal(peer, headers)).toBe(true));

describe("not local is", () => {
  test.each<[string | undefined, Record<string, string>]>([
    [undefined, HOST],
    ["10.0.0.5", HOST],
    ["127.0.0.1", { host: "svc.example.org" }],
    ["127.0.0.1", { host: "192.168.1.5:1234" }],
  ])("%s with %j", (peer, headers) => expect(isLocal(peer, headers)).toBe(false));

  test.each([
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-proto",
    "x-forwarded-host",
    "x-forwarded-server",
    "x-forwarded",
    "x-real-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-original-host",
    "true-client-ip",
    "fly-client-ip",
    "cf-connecting-ip",
    "cf-ray",
    "cdn-loop",
    "x-amzn-trace-id",
    "x-envoy-external-address",
    "x-azure-clientip",
    "tailscale-user-login",
  ])("what a proxy on this machine forwards with %s", (name) =>
    expect(isLocal("127.0.0.1", { ...HOST, [name]: "x" })).toBe(false),
  );

  test("what an untrusted proxy on this machine forwards, where others are trusted", () => {
    expect(isLocal("127.0.0.1", { ...HOST, "x-forwarded-for": "127.0.0.1" }, ["10.0.0.1"])).toBe(false);
  });
});

test("a trusted proxy says whose request it is", () => {
  const from = (address: string) =>
    isLocal("127.0.0.1", { host: "svc.example.org", via: "1.1 nginx", "x-forwarded-for": address }, [
      "127.0.0.1",
    ]);
  expect([from("127.0.0.1"), from("::1"), from("203.0.113.5"), from("rubbish")]).toEqual([
    true,
    true,
    false,
    false,
  ]);
});
