// The table of networks that fetches and tools may reach, against every way to write an IPv4 address inside an IPv6 one.

import { describe, expect, test } from "bun:test";
import ipaddr from "ipaddr.js";
import { embeddedAddresses, type Reach, reachOf } from "../../src/core/networks.ts";
import { isPublicAddress } from "../../src/net/address.ts";
import { randomOf, seedOfRun } from "../helpers/seed.ts";

const bytes = (text: string): Uint8Array => Uint8Array.from(ipaddr.parse(text).toByteArray());
const textOf = (address: Uint8Array): string => ipaddr.fromByteArray([...address]).toString();
const random = randomOf(seedOfRun());
const anyBytes = (count: number): readonly number[] =>
  Array.from({ length: count }, () => Math.floor(random() * 256));

/** Networks that no fetch may reach; tools may reach the local ones. */
const BLOCKED: Readonly<Record<string, Reach>> = {
  "0.0.0.0/8": "machine",
  "10.0.0.0/8": "local",
  "100.64.0.0/10": "local",
  "100.100.100.200/32": "never",
  "127.0.0.0/8": "machine",
  "168.63.129.16/32": "never",
  "169.254.0.0/16": "never",
  "172.16.0.0/12": "local",
  "192.0.0.0/24": "never",
  "192.0.2.0/24": "local",
  "192.88.99.0/24": "never",
  "192.168.0.0/16": "local",
  "198.18.0.0/15": "local",
  "198.51.100.0/24": "local",
  "203.0.113.0/24": "local",
  "224.0.0.0/4": "never",
  "240.0.0.0/4": "never",
  "255.255.255.255/32": "never",
};

/** First, last and some other addresses of a network. */
function addressesOf(network: string): readonly Uint8Array[] {
  const [text = "", bits = ""] = network.split("/");
  const base = Buffer.from(bytes(text)).readUInt32BE();
  const size = 2 ** (32 - Number(bits));
  const offsets = [0, size - 1, ...Array.from({ length: 20 }, () => Math.floor(random() * size))];
  return offsets.map((offset) => {
    const address = Buffer.alloc(4);
    address.writeUInt32BE(base + offset);
    return address;
  });
}

const FORMS: Readonly<Record<string, (inner: Uint8Array) => readonly number[]>> = {
  "IPv4-compatible": (inner) => [...Array(12).fill(0), ...inner],
  "IPv4-mapped": (inner) => [...Array(10).fill(0), 0xff, 0xff, ...inner],
  "IPv4-translated": (inner) => [...Array(8).fill(0), 0xff, 0xff, 0, 0, ...inner],
  NAT64: (inner) => [0, 0x64, 0xff, 0x9b, ...Array(8).fill(0), ...inner],
  "local NAT64 of 96 bits": (inner) => [0, 0x64, 0xff, 0x9b, 0, 1, ...anyBytes(6), ...inner],
  "local NAT64 of 48 bits": ([a = 0, b = 0, c = 0, d = 0]) => [
    0,
    0x64,
    0xff,
    0x9b,
    0,
    1,
    a,
    b,
    0,
    c,
    d,
    ...anyBytes(5),
  ],
  "6to4": (inner) => [0x20, 2, ...inner, ...anyBytes(10)],
  "Teredo's client": (inner) => [
    0x20,
    1,
    0,
    0,
    8,
    8,
    8,
    8,
    ...anyBytes(4),
    ...inner.map((byte) => byte ^ 0xff),
  ],
  "Teredo's server": (inner) => [0x20, 1, 0, 0, ...inner, ...anyBytes(4), 0xf7, 0xf7, 0xf7, 0xf7],
  ISATAP: (inner) => [0x2a, 0x01, ...anyBytes(6), 0, 0, 0x5e, 0xfe, ...inner],
  "ISATAP with the universal bit": (inner) => [0x26, 0x06, ...anyBytes(6), 2, 0, 0x5e, 0xfe, ...inner],
};

describe.each(Object.entries(BLOCKED))("%s", (network, reach) => {
  test("is blocked in every form", () => {
    for (const inner of addressesOf(network)) {
      expect(reachOf(inner), textOf(inner)).toBe(reach);
      for (const [form, embed] of Object.entries(FORMS)) {
        const outer = Uint8Array.from(embed(inner));
        const found = reachOf(outer);
        const label = `${form}: ${textOf(outer)} holds ${textOf(inner)}`;
        expect(isPublicAddress(textOf(outer)), label).toBe(false);
        if (reach === "local" && !form.startsWith("local NAT64")) expect(found, label).toBe("local");
        else if (outer.subarray(0, 15).some((byte) => byte !== 0)) expect(found, label).toBe("never");
      }
    }
  });
});

test("metadata services of clouds are out of reach of tools too", () => {
  const services = [
    "169.254.169.254",
    "168.63.129.16",
    "100.100.100.200",
    "192.0.0.192",
    "fd00:ec2::254",
    "fd00:ec2::23",
    "fd20:ce::254",
    "fd00:c1::a9fe:a9fe",
    "fd00:42::42",
    "fe80::a9fe:a9fe",
  ];
  expect(services.map((address) => reachOf(bytes(address)))).toEqual(services.map(() => "never"));
});

test("the internet, private networks and this machine are told apart", () => {
  const found = (text: string): Reach => reachOf(bytes(text));
  expect(["8.8.8.8", "2606:4700:4700::1111", "2a01:4f8::1", "100.128.0.1"].map(found)).toEqual(
    Array(4).fill("public"),
  );
  expect(["fc00::1", "fd12:3456::1", "64:ff9b::808:808", "2002:808:808::1"].map(found)).toEqual(
    Array(4).fill("local"),
  );
  expect(["::", "::1", "127.8.9.10"].map(found)).toEqual(Array(3).fill("machine"));
});

test("no address is public that a library of address ranges knows as something else", () => {
  for (let n = 0; n < 20_000; n++) {
    const wide = n % 2 === 0;
    const address = Uint8Array.from(wide ? [0x20 + (n % 32), ...anyBytes(15)] : anyBytes(4));
    const isUnicast = ipaddr.fromByteArray([...address]).range() === "unicast";
    if (reachOf(address) === "public") expect(isUnicast, textOf(address)).toBe(true);
    if (wide) expect(embeddedAddresses(address).length).toBeLessThan(4);
  }
});
