import { describe, expect, test } from "bun:test";
import { isAddressRange } from "../../src/core/address-range.ts";
import { clientAddresses } from "../../src/net/client-address.ts";
import { droppedConnections } from "../../src/net/connections.ts";

const forwarded = (value: string): Headers => new Headers({ "x-forwarded-for": value });

describe("the client behind a connection", () => {
  test.each([
    ["no proxy is trusted", [], "10.0.0.1", "1.2.3.4", "10.0.0.1"],
    ["the proxy is not the trusted one", ["10.0.0.2"], "10.0.0.1", "1.2.3.4", "10.0.0.1"],
    ["a trusted proxy", ["10.0.0.1"], "10.0.0.1", "1.2.3.4", "1.2.3.4"],
    ["a range", ["10.0.0.0/8"], "10.9.9.9", "1.2.3.4", "1.2.3.4"],
    ["a chain of them", ["10.0.0.0/8"], "10.0.0.1", "6.6.6.6, 1.2.3.4, 10.0.0.7", "1.2.3.4"],
    ["a header forged by the client", ["10.0.0.1"], "10.0.0.1", "6.6.6.6, 1.2.3.4", "1.2.3.4"],
    ["an invalid header", ["10.0.0.1"], "10.0.0.1", "unknown", "10.0.0.1"],
    ["IPv4 within IPv6", ["127.0.0.1"], "::ffff:127.0.0.1", "1.2.3.4", "1.2.3.4"],
    ["IPv6, by its network", [], "2001:db8:1:2:3:4:5:6", "", "2001:db8:1:2::"],
  ])("%s", (_, trusted, peer, header, client) => {
    expect(clientAddresses(trusted)(peer, forwarded(header))).toBe(client);
  });

  test("valid addresses and ranges", () => {
    const texts = ["10.0.0.1", "fd00::/8", "10.0.0.0/33", "999.1.1.1", "proxy"];
    expect(texts.map(isAddressRange)).toEqual([true, true, false, false, false]);
  });
});

test("dropped connections are read from kernel counters, if available", () => {
  const text = "TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 1 7 9\nIpExt: A\nIpExt: 3\n";
  expect(droppedConnections(() => text)).toBe(7);
  expect(droppedConnections(() => "")).toBeUndefined();
});
